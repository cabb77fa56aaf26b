// Feeds the chat template with hostile input: the part before the first NUL byte is a template, the
// rest the JSON of the context it is rendered with (a fixed conversation if it is not JSON).
#include <cstdint>
#include <string_view>

#include "text/jinja.h"
#include "text/jinja_json.h"

namespace {

constexpr std::string_view conversation =
    R"({"messages": [{"role": "system", "content": " Be brief. "},
       {"role": "user", "content": "h\u00e9 <b>"}, {"role": "assistant", "content": null,
        "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"x": [1, 2.5, true]}}}]}],
       "tools": null, "add_generation_prompt": true, "bos_token": "<s>", "x": {"a": {"b": 1}}})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dure::jinja;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = input.find('\0');
  const std::string_view context = split == input.npos ? "" : input.substr(split + 1);
  static const Value fallback = *parse_json_value(conversation);
  // Small limits: the fuzzer is after crashes, and the bounds have to hold at any size.
  const Limits limits{
      .steps = 200'000, .memory = 32 << 20, .text = 1 << 20, .items = 20'000, .depth = 400};
  try {
    const Template source(input.substr(0, split));
    Value values = parse_json_value(context).value_or(fallback);
    if (!values.is(Kind::dict)) values = fallback;
    Variables variables;
    for (const auto& [name, value] : values.as_dict().entries) {
      variables.emplace_back(name.bytes(), value);
    }
    source.render(variables, std::tm{}, limits);
  } catch (const JinjaError&) {
  }
  return 0;
}
