// See answer_reader.h.
#include "load/answer_reader.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.h"
#include "load/answer_event.h"

namespace dure::load {
namespace {

constexpr size_t most_error_bytes = 4096;
constexpr size_t most_detail_bytes = 300;

bool is_event_stream(std::string type) {
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return type.starts_with("text/event-stream");
}

Trouble trouble_of(CallEnd end) {
  switch (end) {
    case CallEnd::not_reached:
      return Trouble::not_reached;
    case CallEnd::no_descriptors:
      return Trouble::no_descriptors;
    case CallEnd::timed_out:
      return Trouble::timed_out;
    case CallEnd::hung_up:
      return Trouble::hung_up;
    case CallEnd::not_http:
      return Trouble::not_http;
    case CallEnd::cut:
    case CallEnd::complete:
    case CallEnd::left:
      return Trouble::cut;
  }
  DURE_CHECK(false);
  return Trouble::none;
}

}  // namespace

AnswerReader::AnswerReader(const Transport& clock, Record record,
                           std::optional<int64_t> cancel_after, OnDone on_done)
    : clock_(clock),
      record_(std::move(record)),
      cancel_after_(cancel_after),
      on_done_(std::move(on_done)) {}

bool AnswerReader::on_sent() {
  return !cancel_if_due();
}

bool AnswerReader::on_head(const CallHead& head) {
  record_.status = head.status;
  record_.retry_after_s = head.retry_after_s;
  is_stream_ = head.status == 200 && is_event_stream(head.content_type);
  if (head.status == 200 && !is_stream_) {
    return fail(Trouble::not_a_stream, "Content-Type: " + head.content_type);
  }
  return true;
}

bool AnswerReader::on_bytes(std::string_view bytes) {
  if (!is_stream_) {
    error_body_ +=
        bytes.substr(0, most_error_bytes - std::min(most_error_bytes, error_body_.size()));
    return error_body_.size() < most_error_bytes;
  }
  try {
    return events_.feed(bytes, [this](std::string_view data) { return on_event(data); });
  } catch (const Error& error) {
    return fail(Trouble::bad_event, error.message());
  }
}

bool AnswerReader::on_event(std::string_view data) {
  const AnswerEvent event = parse_answer_event(data);
  if (event.error) return fail(Trouble::error_event, *event.error);
  const double now = clock_.now();
  if (event.has_text) {
    record_.arrivals_s.push_back(now);
    record_.end_s = now;
  }
  if (event.usage) {
    record_.has_usage = true;
    record_.input_tokens = event.usage->prompt_tokens;
    record_.output_tokens = event.usage->completion_tokens;
    record_.cached_tokens = event.usage->cached_tokens;
  }
  if (!event.finish_reason.empty()) {
    record_.finish_reason = event.finish_reason;
    record_.end_s = now;
  }
  finished_ = finished_ || event.done || !event.finish_reason.empty();
  return !cancel_if_due();
}

bool AnswerReader::fail(Trouble trouble, std::string detail) {
  record_.outcome = Outcome::failed;
  record_.trouble = trouble;
  record_.detail = std::move(detail);
  record_.detail.resize(std::min(record_.detail.size(), most_detail_bytes));
  return false;
}

bool AnswerReader::cancel_if_due() {
  const auto chunks = static_cast<int64_t>(record_.arrivals_s.size());
  if (finished_ || !cancel_after_ || chunks < *cancel_after_) return false;
  cancelled_ = true;
  return true;
}

void AnswerReader::conclude(CallEnd end, const std::string& why) {
  if (record_.trouble != Trouble::none) return;
  if (record_.status != 0 && record_.status != 200) {
    fail(Trouble::status, error_message_of(error_body_));
  } else if (cancelled_) {
    record_.outcome = Outcome::cancelled;
  } else if (finished_) {
    record_.outcome = Outcome::completed;
  } else if (end == CallEnd::left) {
    record_.outcome = Outcome::interrupted;
  } else {
    fail(trouble_of(end), why);
  }
}

void AnswerReader::on_end(CallEnd end, const std::string& why) {
  conclude(end, why);
  if (record_.end_s == 0.0 || record_.outcome != Outcome::completed) record_.end_s = clock_.now();
  if (!record_.has_usage) record_.output_tokens = static_cast<int64_t>(record_.arrivals_s.size());
  on_done_(std::move(record_));
}

}  // namespace dure::load
