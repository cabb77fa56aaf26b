// See model_argument.h.
#include "cli/model_argument.h"

#include <filesystem>

#include "base/error.h"
#include "base/units.h"

namespace dure {

std::optional<int64_t> parameters_if_size(const std::string& model) {
  std::error_code status;
  if (model.empty() || model[0] < '0' || model[0] > '9') return std::nullopt;
  if (std::filesystem::exists(model, status)) return std::nullopt;
  try {
    return parse_count(model, "MODEL");
  } catch (const Error&) {
    return std::nullopt;  // a path that begins with a digit: reading it will say what is wrong
  }
}

}  // namespace dure
