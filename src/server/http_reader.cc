// See http_reader.h.
#include "server/http_reader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "server/http_head.h"
#include "server/request_id.h"

namespace dure {

void RequestReader::feed(std::string_view bytes) {
  if (state_ == State::refused) return;
  unread_ += bytes;
  advance();
}

bool RequestReader::wants_continue() {
  return std::exchange(wants_continue_, false) && state_ == State::body;
}

size_t RequestReader::bytes_held() const {
  return unread_.size() + made_.request.body.size();
}

ReadRequest RequestReader::take() {
  DURE_CHECK(state_ == State::whole);
  ReadRequest taken = std::exchange(made_, {});
  chunks_.reset();
  state_ = State::idle;
  if (unread_.empty()) std::string().swap(unread_);  // an idle connection costs no buffer
  advance();
  return taken;
}

void RequestReader::refuse(int status, const std::string& what) {
  refusal_.status = status;
  refusal_.message = status == 400 ? "not a valid HTTP request: " + what : what;
  state_ = State::refused;
  made_ = {};
  std::string().swap(unread_);
}

void RequestReader::refuse_body() {
  refuse(413, "the request's body is larger than the server takes (" +
                  std::to_string(limits_.max_body_bytes) + " bytes)");
}

void RequestReader::advance() {
  if (state_ == State::idle && !unread_.empty()) state_ = State::head;
  if (state_ == State::head && find_end_of_head()) begin_request();
  if (state_ == State::body) read_body();
}

// Looks at each byte of the head once.
bool RequestReader::find_end_of_head() {
  for (; scanned_ < unread_.size(); ++scanned_) {
    const auto byte = static_cast<unsigned char>(unread_[scanned_]);
    const bool after_cr = scanned_ > line_ && unread_[scanned_ - 1] == '\r';
    if (after_cr != (byte == '\n')) {
      refuse(400, "a line that does not end with CR LF");
      return false;
    }
    if ((byte < 0x20 && byte != '\r' && byte != '\n' && byte != '\t') || byte == 0x7F) {
      refuse(400, "a control character in the head");
      return false;
    }
    if (scanned_ >= limits_.max_header_bytes) {
      refuse(lines_ == 0 ? 414 : 431, "the request's head is too large");
      return false;
    }
    if (byte != '\n') continue;
    const std::string_view line(unread_.data() + line_, scanned_ - 1 - line_);
    line_ = scanned_ + 1;
    if (line.empty() && lines_ == 0) continue;  // before a request, empty lines are passed over
    if (line.empty()) {
      ++scanned_;
      return true;
    }
    // What is no HTTP at all is told so at its first line: it may send no other.
    if (++lines_ > 1) continue;
    if (const auto fault = fault_of_request_line(line)) {
      refuse(fault->status, fault->what);
      return false;
    }
  }
  return false;
}

void RequestReader::begin_request() {
  std::string text = unread_.substr(0, scanned_);
  unread_.erase(0, scanned_);
  scanned_ = line_ = 0;
  lines_ = 0;
  text.erase(0, text.find_first_not_of("\r\n"));
  RequestHead head;
  if (const auto fault = read_head(text, head)) return refuse(fault->status, fault->what);
  if (head.content_length > limits_.max_body_bytes) return refuse_body();

  made_.http_1_1 = head.http_1_1;
  made_.keep_alive = head.keep_alive;
  made_.head_only = head.method == "HEAD";
  HttpRequest& request = made_.request;
  request.id = request_id_from(head.request_id);
  request.method = made_.head_only ? "GET" : std::string(head.method);
  request.path = std::string(path_of_target(head.target));
  request.authorization = std::string(head.authorization);
  request.origin = std::string(head.origin);
  request.asks_preflight = head.asks_preflight;
  wants_continue_ = head.http_1_1 && head.expects_continue;
  body_left_ = head.content_length;
  if (head.chunked) chunks_.emplace(limits_.max_body_bytes);
  state_ = State::body;
}

void RequestReader::read_body() {
  std::string& body = made_.request.body;
  if (chunks_) {
    unread_.erase(0, chunks_->feed(unread_, body));
    if (chunks_->state() == ChunkDecoder::State::too_large) return refuse_body();
    if (chunks_->state() == ChunkDecoder::State::broken) {
      return refuse(400, "a body that is not in the chunked coding");
    }
    if (chunks_->state() == ChunkDecoder::State::done) state_ = State::whole;
    return;
  }
  const auto taken = static_cast<size_t>(std::min<uint64_t>(body_left_, unread_.size()));
  body.append(unread_, 0, taken);
  unread_.erase(0, taken);
  body_left_ -= taken;
  if (body_left_ == 0) state_ = State::whole;
}

}  // namespace dure
