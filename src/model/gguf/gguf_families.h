// The architectures of GGUF files that are read: what each calls its settings, and which family of
// config.json they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/gguf/translator.h"
#include "model/spec.h"

namespace dure {

struct GgufFamily {
  std::string_view architecture;  // general.architecture
  void (*translate)(GgufTranslator& file);
  // What the family assumes of config.json's world and the file does otherwise.
  void (*adjust)(const GgufModel& model, ModelSpec& spec);
};

const GgufFamily* find_gguf_family(std::string_view architecture);  // null: not known

std::vector<std::string> known_gguf_architectures();

}  // namespace dure
