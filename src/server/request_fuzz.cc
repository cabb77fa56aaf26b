// Request bodies, as any client may send them, through the parsers: they are read or refused with
// an Error, and a refusal can always be written down as an answer.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "server/api_errors.h"
#include "server/requests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dure::ServedModel model = [] {
    dure::ServedModel made;
    made.names = {"M"};
    made.context = 2048;
    made.longest_sequence = 2049;
    made.vocab = 2048;
    made.eos_ids = {2};
    return made;
  }();
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 4) {
      case 0:
        dure::parse_chat_call(body, model);
        break;
      case 1:
        dure::parse_completion_call(body, model);
        break;
      case 2:
        dure::parse_tokenize_call(body, model);
        break;
      default:
        dure::parse_detokenize_call(body, model);
    }
  } catch (const dure::Error& error) {
    dure::error_response(dure::api_error_of(error));
  }
  return 0;
}
