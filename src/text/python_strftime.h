// datetime.now().strftime(format) for a local time without a zone.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace dure {

// Without a time, the machine's local time is taken. An unknown directive stays as it is.
std::string py_strftime(std::string_view format, const std::optional<std::tm>& now);

}  // namespace dure
