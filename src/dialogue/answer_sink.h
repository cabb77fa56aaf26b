// Collects what parsers find as deltas. White space between text and what is not text (a call, a
// block of reasoning) belongs to the format and is dropped; white space between two texts stays.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialogue/answer_delta.h"
#include "dialogue/call_ids.h"

namespace dure::dialogue {

bool is_space(int byte);  // as JSON has it
std::string_view trimmed(std::string_view text);

class AnswerSink {
 public:
  explicit AnswerSink(CallIds ids) : ids_(std::move(ids)) {}

  void content(std::string_view text);
  void verbatim(std::string_view text);  // content whose white space is not ours to judge
  void interrupt();                      // content was left for something that is not text
  void separate_content();               // what comes is another paragraph of content

  void open_reasoning();
  void reasoning(std::string_view text);
  void close_reasoning();
  bool in_reasoning() const { return in_reasoning_; }
  bool reasoning_is_blank() const { return block_is_blank_; }

  // Without an id the call gets one of ours.
  void begin_call(std::string_view name, std::string_view id = "");
  void arguments(std::string_view text);
  void end_call();
  bool in_call() const { return in_call_; }
  int calls() const { return calls_; }

  // No more text comes: what white space meant is known now.
  void finish();

  std::vector<AnswerDelta> take();

 private:
  void text(AnswerDelta::Kind kind, std::string_view text);

  CallIds ids_;
  std::vector<AnswerDelta> deltas_;

  std::string gap_;  // white space of the content that waits for text behind it
  bool has_content_ = false;
  bool interrupted_ = false;

  bool in_reasoning_ = false;
  bool block_is_blank_ = true;
  bool has_reasoning_ = false;
  std::string reasoning_gap_;

  int calls_ = 0;
  bool in_call_ = false;
  bool has_arguments_ = false;
};

}  // namespace dure::dialogue
