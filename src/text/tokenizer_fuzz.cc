// Fuzzes the reader of tokenizer.json and what it builds. Input: the file, a NUL byte, then text
// that is encoded, and decoded and streamed again. Whatever is not refused must hold its promises.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(input.find('\0'), input.size());
  const std::string_view text = cut < input.size() ? input.substr(cut + 1) : std::string_view();
  try {
    const auto tokenizer = dure::Tokenizer::parse(input.substr(0, cut), "fuzz");
    const std::string valid = dure::utf8::repaired(text);
    for (const bool special : {false, true}) {
      const auto ids = tokenizer->encode(valid, {.add_special = special, .parse_special = special});
      dure::StreamDecoder decoder(tokenizer, special);
      std::string sent;
      for (const int32_t id : ids) {
        require(id >= 0 && id < tokenizer->vocabulary_size());
        sent += decoder.push(id);
      }
      sent += decoder.finish();
      require(dure::utf8::first_invalid(sent) == sent.size());
      require(sent == tokenizer->decode(ids, special));
    }
    tokenizer->encode(text);
  } catch (const dure::Error& error) {
    require(error.code() == dure::ErrorCode::bad_input && !error.hint().empty());
  }
  return 0;
}
