// The name of one request in answers and logs: the client's X-Request-Id where it can be one, else
// drawn at random.
#pragma once

#include <string>
#include <string_view>

namespace dure {

inline constexpr size_t max_request_id_bytes = 128;

// Letters, digits and -_.:/+=@ only: what no log and no header can take for something else.
bool is_request_id(std::string_view text);

std::string new_request_id();  // 32 hexadecimal digits
std::string request_id_from(std::string_view header);

}  // namespace dure
