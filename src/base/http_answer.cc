// See http_answer.h.
#include "base/http_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

namespace dure {
namespace {

constexpr size_t most_head_bytes = 64 << 10;
constexpr std::string_view protocol = "HTTP/1.";

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char letter) { return std::tolower(static_cast<unsigned char>(letter)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Just behind the empty line, whichever way lines end; nothing if it has not come.
size_t end_of_head(std::string_view text) {
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with('\n')) return at + 2;
    if (rest.starts_with("\r\n")) return at + 3;
  }
  return std::string_view::npos;
}

}  // namespace

void HttpAnswerReader::fail(std::string fault) {
  state_ = State::broken;
  keeps_connection_ = false;
  fault_ = std::move(fault);
}

void HttpAnswerReader::feed(std::string_view bytes, std::string& body) {
  while (!bytes.empty() && state_ == State::head) bytes = take_head(bytes);
  if (state_ == State::body) bytes = take_body(bytes, body);
  if (!bytes.empty()) keeps_connection_ = false;
}

// Returns what comes after the head.
std::string_view HttpAnswerReader::take_head(std::string_view bytes) {
  // A head that was there but for its end is not searched again from its first byte.
  const size_t before = received_.size();
  const size_t from = before - std::min<size_t>(before, 3);
  received_ += bytes;
  const std::string_view start = std::string_view(received_).substr(0, protocol.size());
  if (!protocol.starts_with(start)) {
    fail(fmt::format("not HTTP: {:.40}", received_));
    return {};
  }
  const size_t found = end_of_head(std::string_view(received_).substr(from));
  if (found == std::string_view::npos || from + found > most_head_bytes) {
    if (received_.size() > most_head_bytes) fail("a header of more than 64 KiB");
    return {};
  }
  const size_t end = from + found;
  const std::string head = received_.substr(0, end);
  received_.clear();
  read_head(head);
  return bytes.substr(end - before);
}

bool HttpAnswerReader::read_status_line(std::string_view line) {
  // "HTTP/1.1 200 OK"
  const std::string_view version = line.substr(0, line.find(' '));
  const std::string_view rest = trimmed(line.substr(version.size()));
  const auto status = number_of<int>(rest.substr(0, rest.find(' ')));
  if (version.size() != protocol.size() + 1 || !status || *status < 100 || *status > 999) {
    fail(fmt::format("not a status line: {:.40}", line));
    return false;
  }
  head_ = {};
  head_.status = *status;
  keeps_connection_ = version == "HTTP/1.1";
  return true;
}

void HttpAnswerReader::read_field(std::string_view line, Framing& framing) {
  const size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(std::min(colon + 1, line.size())));
  if (same_name(name, "content-type")) head_.content_type = value;
  if (same_name(name, "retry-after")) {
    const double seconds = number_of<double>(value).value_or(0.0);
    head_.retry_after_s = seconds > 0.0 && seconds < 1e6 ? seconds : 0.0;
  }
  if (same_name(name, "connection") && same_name(value, "close")) keeps_connection_ = false;
  if (same_name(name, "transfer-encoding")) {
    if (framing.chunked || !same_name(value, "chunked")) {
      return fail(fmt::format("a Transfer-Encoding that is not chunked: {:.40}", value));
    }
    framing.chunked = true;
  }
  if (same_name(name, "content-length")) {
    const auto length = number_of<uint64_t>(value);
    if (!length || (framing.length && framing.length != length)) {
      return fail(fmt::format("not a Content-Length: {:.40}", value));
    }
    framing.length = length;
  }
}

void HttpAnswerReader::read_head(std::string_view head) {
  Framing framing;
  bool is_first = true;
  while (!head.empty() && state_ == State::head) {
    const size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = trimmed(head.substr(0, end));
    head.remove_prefix(std::min(end + 1, head.size()));
    if (line.empty()) continue;
    if (!std::exchange(is_first, false)) {
      read_field(line, framing);
    } else if (!read_status_line(line)) {
      return;
    }
  }
  const bool is_interim = head_.status < 200 && head_.status != 101;
  if (state_ == State::head && !is_interim) begin_body(framing);
}

void HttpAnswerReader::begin_body(const Framing& framing) {
  has_head_ = true;
  state_ = State::body;
  const bool has_no_body = head_.status == 204 || head_.status == 304 || head_.status == 101;
  if (framing.chunked && !has_no_body) {
    // Both framings at once: one of them is wrong.
    if (framing.length) keeps_connection_ = false;
    chunks_.emplace(std::numeric_limits<uint64_t>::max());
    return;
  }
  left_ = has_no_body ? uint64_t{0} : framing.length;
  if (!left_) keeps_connection_ = false;
  if (left_ == uint64_t{0}) state_ = State::done;
}

// Returns what comes after the body.
std::string_view HttpAnswerReader::take_body(std::string_view bytes, std::string& body) {
  if (chunks_) {
    const size_t taken = chunks_->feed(bytes, body);
    if (chunks_->state() == ChunkDecoder::State::done) {
      state_ = State::done;
    } else if (chunks_->state() != ChunkDecoder::State::more) {
      fail("not a valid chunk");
      return {};
    }
    return bytes.substr(taken);
  }
  const auto taken =
      static_cast<size_t>(std::min<uint64_t>(left_.value_or(bytes.size()), bytes.size()));
  body += bytes.substr(0, taken);
  if (left_ && (*left_ -= taken) == 0) state_ = State::done;
  return bytes.substr(taken);
}

void HttpAnswerReader::close() {
  keeps_connection_ = false;
  if (state_ == State::body && !chunks_ && !left_) {
    state_ = State::done;
  } else if (state_ == State::head || state_ == State::body) {
    state_ = State::cut;
  }
}

}  // namespace dure
