// What the API knows of the model it serves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "dialogue/formats.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace dure {

// What a request gets where it says nothing.
struct SamplingDefaults {
  double temperature = 1.0;
  double top_p = 1.0;
  double min_p = 0.0;
  int32_t top_k = 0;
};

// From `folder`/generation_config.json, as vLLM takes them (temperature, top_p, top_k, min_p), with
// one difference: a file that says `"do_sample": false` means greedy answers, as it does in
// Transformers. No file: the values above. Throws bad_input naming the field.
SamplingDefaults read_sampling_defaults(const std::filesystem::path& folder);

// By the names of --tool-parser and --reasoning-parser, and where these are empty as the template
// and the special tokens show. Throws bad_input naming the flag.
AnswerFormat served_format(const ChatTemplate* chat_template, const Tokenizer& tokenizer,
                           const std::string& tool_parser, const std::string& reasoning_parser);

struct ServedModel {
  std::vector<std::string> names;  // the first is the one in answers
  int64_t created = 0;             // Unix seconds
  int32_t context = 0;             // tokens, prompt and answer together
  int32_t longest_sequence = 0;    // tokens that the KV cache can hold of one request
  int32_t vocab = 0;
  std::vector<int32_t> eos_ids;
  SamplingDefaults defaults;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the model has none
  AnswerFormat format;                                // how it writes tool calls and reasoning

  bool answers_to(const std::string& name) const;
};

}  // namespace dure
