// See gguf_tokenizer.h: the names by which https://github.com/ggml-org/llama.cpp calls ways of
// cutting text, and what the tokenizer.json of the models they are named after has for them.
#include <array>

#include "text/gguf_tokenizer.h"

namespace dure {
namespace {

// clang-format off
constexpr std::string_view qwen =
    R"json({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(?i:'s|'t)json"
    R"json(|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|)json"
    R"json(\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false}, {"type": "By)json"
    R"json(teLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})json";

constexpr std::string_view llama3 =
    R"json({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(?i:'s|'t)json"
    R"json(|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\)json"
    R"json(\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false}, {"type")json"
    R"json(: "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})json";

constexpr std::string_view o200k =
    R"json({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "[^\\r\\n\)json"
    R"json(\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|')json"
    R"json(t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll)json"
    R"json(}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\)json"
    R"json(\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false}, {"t)json"
    R"json(ype": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}])json"
    R"json(})json";

constexpr std::string_view deepseek3 =
    R"json({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\p{N}{1,)json"
    R"json(3}"}, "behavior": "Isolated", "invert": false}, {"type": "Split", "pattern": {"Regex": ")json"
    R"json([一-龥぀-ゟ゠-ヿ]+"}, "behavior": "Isolated", "invert": false}, {"type": "Split", "pattern": {)json"
    R"json("Regex": "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S})json"
    R"json(]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"}, "behavior": ")json"
    R"json(Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offs)json"
    R"json(ets": true, "use_regex": false}]})json";

constexpr std::string_view gpt2 =
    R"json({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": false, )json"
    R"json("trim_offsets": true, "use_regex": true}]})json";

constexpr std::string_view older =
    R"json({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "[\\p{P}\\)json"
    R"json($\\+<=>\\^~\\|]+"}, "behavior": "Isolated", "invert": false}, {"type": "Split", "pattern)json"
    R"json(": {"Regex": "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\)json"
    R"json(\S)"}, "behavior": "Isolated", "invert": false}, {"type": "Split", "pattern": {"Regex": )json"
    R"json("\\p{N}+"}, "behavior": "Isolated", "invert": false}, {"type": "Split", "pattern": {"Reg)json"
    R"json(ex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": false}, {"type": "ByteLevel",)json"
    R"json( "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})json";

constexpr std::string_view digits =
    R"json({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, {")json"
    R"json(type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}])json"
    R"json(})json";

// clang-format on

constexpr GgufPreTokenizer like_gpt2{gpt2};
constexpr GgufPreTokenizer like_qwen{qwen, true};
constexpr GgufPreTokenizer like_llama3{llama3, false, true, true};
constexpr GgufPreTokenizer like_o200k{o200k, false, true};
constexpr GgufPreTokenizer like_deepseek3{deepseek3};
constexpr GgufPreTokenizer with_digits{digits};

struct Named {
  std::string_view name;
  const GgufPreTokenizer* cut;
};

constexpr GgufPreTokenizer unstated{older};

constexpr std::array names = {
    Named{"", &unstated},
    Named{"default", &unstated},
    Named{"gpt-2", &like_gpt2},
    Named{"phi-2", &like_gpt2},
    Named{"olmo", &like_gpt2},
    Named{"dbrx", &like_llama3},
    Named{"llama3", &like_llama3},
    Named{"llama-v3", &like_llama3},
    Named{"llama-bpe", &like_llama3},
    Named{"qwen2", &like_qwen},
    Named{"deepseek-r1-qwen", &like_qwen},
    Named{"gpt-4o", &like_o200k},
    Named{"deepseek-v3", &like_deepseek3},
    Named{"starcoder", &with_digits},
    Named{"refact", &with_digits},
    Named{"command-r", &with_digits},
    Named{"smollm", &with_digits},
};

}  // namespace

std::optional<GgufPreTokenizer> find_gguf_pre_tokenizer(std::string_view name) {
  for (const Named& each : names) {
    if (each.name == name) return *each.cut;
  }
  return std::nullopt;
}

}  // namespace dure
