// The chat template of a GGUF file, and what its prompts begin with.
#pragma once

#include <filesystem>
#include <string>

#include "text/chat_template.h"

namespace dure {

inline constexpr auto gguf_template_key = "tokenizer.chat_template";

struct GgufTemplate {
  std::string plain, with_tools;  // the second may be empty
  std::string begin;              // the token that a prompt begins with; empty: none is asked for
  std::string special_tokens;     // JSON: object of name ("bos_token") to text
  std::string what;
};

// Throws bad_input if there is none.
GgufTemplate read_gguf_template(const std::filesystem::path& file);

// Whether the prompt of a small conversation begins so.
bool begins_with(const ChatTemplate& chat_template, const std::string& text);

}  // namespace dure
