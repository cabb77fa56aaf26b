// Recorded cases of the text side, run by the `golden_text` program and by the unit tests alike.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dure {

struct GoldenKind {
  std::string name;  // "encode qwen3", "jinja", ...
  int passed = 0;
  int failed = 0;
  std::vector<std::string> failures;  // the first few, one line each: which row, what differed
};

// encode, pretokens, nfc and stream sets (golden_tokens.cc). `tokenizers` holds one folder per
// tokenizer; sets whose files are absent are left out.
std::vector<GoldenKind> run_token_goldens(const std::filesystem::path& tokenizers,
                                          const std::filesystem::path& golden);

// chat, templates and jinja sets (golden_templates.cc).
std::vector<GoldenKind> run_template_goldens(const std::filesystem::path& tokenizers,
                                             const std::filesystem::path& golden);

}  // namespace dure
