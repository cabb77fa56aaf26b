// See answer_sink.h.
#include "dialogue/answer_sink.h"

#include <utility>

#include "base/error.h"

namespace dure::dialogue {

using Kind = AnswerDelta::Kind;

bool is_space(int byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

void AnswerSink::text(Kind kind, std::string_view text) {
  if (text.empty()) return;
  const int index = kind == Kind::arguments ? calls_ - 1 : 0;
  if (deltas_.empty() || deltas_.back().kind != kind || deltas_.back().index != index) {
    deltas_.push_back({.kind = kind, .text = {}, .index = index, .id = {}, .name = {}});
  }
  deltas_.back().text += text;
}

void AnswerSink::content(std::string_view piece) {
  size_t last = piece.size();
  while (last > 0 && is_space(piece[last - 1])) --last;
  if (last == 0) {
    gap_ += piece;
    return;
  }
  if (interrupted_ && !has_content_) {
    gap_.clear();
    while (is_space(piece[0])) {
      piece.remove_prefix(1);
      --last;
    }
  }
  text(Kind::content, std::exchange(gap_, {}));
  text(Kind::content, piece.substr(0, last));
  gap_ = piece.substr(last);
  has_content_ = true;
  interrupted_ = false;
}

void AnswerSink::verbatim(std::string_view piece) {
  text(Kind::content, piece);
}

void AnswerSink::interrupt() {
  interrupted_ = true;
}

void AnswerSink::separate_content() {
  if (has_content_ && gap_.empty()) gap_ = "\n";
}

void AnswerSink::open_reasoning() {
  in_reasoning_ = true;
  block_is_blank_ = true;
  reasoning_gap_.clear();
}

void AnswerSink::reasoning(std::string_view piece) {
  for (; block_is_blank_ && !piece.empty() && is_space(piece[0]); piece.remove_prefix(1)) {
  }
  size_t last = piece.size();
  while (last > 0 && is_space(piece[last - 1])) --last;
  if (last > 0) {
    if (block_is_blank_ && has_reasoning_) text(Kind::reasoning, "\n");
    block_is_blank_ = false;
    has_reasoning_ = true;
    text(Kind::reasoning, std::exchange(reasoning_gap_, {}));
    text(Kind::reasoning, piece.substr(0, last));
  }
  reasoning_gap_ += piece.substr(last);
}

void AnswerSink::close_reasoning() {
  in_reasoning_ = false;
  reasoning_gap_.clear();
}

void AnswerSink::begin_call(std::string_view name, std::string_view id) {
  DURE_CHECK(!in_call_);
  in_call_ = true;
  interrupted_ = true;
  has_arguments_ = false;
  deltas_.push_back({.kind = Kind::call,
                     .text = {},
                     .index = calls_,
                     .id = id.empty() ? ids_.id(calls_) : std::string(id),
                     .name = std::string(name)});
  ++calls_;
}

void AnswerSink::arguments(std::string_view piece) {
  if (piece.empty()) return;
  has_arguments_ = true;
  text(Kind::arguments, piece);
}

void AnswerSink::end_call() {
  if (!has_arguments_) arguments("{}");
  deltas_.push_back(
      {.kind = Kind::call_end, .text = {}, .index = calls_ - 1, .id = {}, .name = {}});
  in_call_ = false;
}

void AnswerSink::finish() {
  if (in_reasoning_) text(Kind::reasoning, std::exchange(reasoning_gap_, {}));
  if (!interrupted_) text(Kind::content, std::exchange(gap_, {}));
}

std::vector<AnswerDelta> AnswerSink::take() {
  return std::exchange(deltas_, {});
}

}  // namespace dure::dialogue
