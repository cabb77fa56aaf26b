// See trace_events.h.
#include "trace/trace_events.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace dure {
namespace {

constexpr int server_process = 1;

int process_of(int rank) {
  return 10 + rank;
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Microseconds to the nanosecond.
struct Micros {
  int64_t ns;
};
std::string text_of(Micros time) {
  const char* sign = time.ns < 0 ? "-" : "";
  const int64_t ns = time.ns < 0 ? -time.ns : time.ns;
  return fmt::format("{}{}.{:03}", sign, ns / 1000, ns % 1000);
}

void append_process(std::string& text, int process, const std::string& title) {
  text += fmt::format(
      ",\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"tid\":0,\"args\":{{\"name\":{1}}}}"
      "}"
      ",\n{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{0},\"tid\":0,\"args\":"
      "{{\"sort_index\":{0}}}}}",
      process, quoted(title));
}

}  // namespace

void append_server(std::string& text) {
  append_process(text, server_process, "dure serve");
}

void append_rank(std::string& text, int rank, const std::string& title) {
  append_process(text, process_of(rank), title);
}

void append_step(std::string& text, int64_t epoch_ns, const TracedStep& step) {
  fmt::format_to(std::back_inserter(text),
                 ",\n{{\"ph\":\"X\",\"name\":\"step ({})\",\"cat\":\"step\",\"ts\":{},\"dur\":{},"
                 "\"pid\":{},\"tid\":{},\"args\":{{\"step\":{},\"slices\":{},\"tokens\":{}}}}}",
                 step.kind, text_of(Micros{step.sent_ns - epoch_ns}),
                 text_of(Micros{step.done_ns - step.sent_ns}), server_process, step.lane + 1,
                 step.id, step.slices, step.tokens);
}

void append_spans(std::string& text, int64_t epoch_ns, int rank,
                  const std::vector<std::string>& names, std::span<const Span> spans) {
  std::vector<std::string> titles;
  titles.reserve(names.size());
  for (const std::string& name : names) titles.push_back(quoted(name));
  const std::string unknown = quoted("?");
  for (const Span& span : spans) {
    fmt::format_to(std::back_inserter(text),
                   ",\n{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"ts\":{},\"dur\":{},\"pid\":{},"
                   "\"tid\":1,\"args\":{{\"step\":{}",
                   span.name < titles.size() ? titles[span.name] : unknown, to_string(span.part),
                   text_of(Micros{span.begin_ns - epoch_ns}), text_of(Micros{span.length_ns}),
                   process_of(rank), span.step);
    if (span.layer >= 0) fmt::format_to(std::back_inserter(text), ",\"layer\":{}", span.layer);
    if (span.part == StepPart::collectives) {
      fmt::format_to(std::back_inserter(text), ",\"bytes\":{}", span.bytes);
    }
    text += "}}";
  }
}

void append_mark(std::string& text, int64_t epoch_ns, int64_t at_ns, const Event& event) {
  text += fmt::format(
      ",\n{{\"ph\":\"i\",\"s\":\"g\",\"name\":{},\"cat\":\"event\",\"ts\":{},\"pid\":{},\"tid\":1,"
      "\"args\":{{\"message\":{}}}}}",
      quoted(event.name), text_of(Micros{at_ns - epoch_ns}), server_process, quoted(event.message));
}

}  // namespace dure
