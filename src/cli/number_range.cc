// See number_range.h.
#include "cli/number_range.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

namespace dure {

CLI::Validator number_between(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        double value = std::nan("");
        const bool number = CLI::detail::lexical_cast(text, value);
        if (number && value >= least && value <= most) return std::string();
        return fmt::format("{} is not a number from {} to {}", text, least, most);
      },
      fmt::format("from {} to {}", least, most));
}

}  // namespace dure
