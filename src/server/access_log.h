// One line of JSON for each request, when it is over.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace dure {

struct AccessRecord {
  std::chrono::system_clock::time_point begun;
  std::string id;
  std::string client;  // address and port
  std::string method;  // empty, as is the path, of bytes that were no request
  std::string path;
  int status = 0;             // 499 where the client left before there was one
  size_t request_bytes = 0;   // of the body
  size_t response_bytes = 0;  // sent, headers included
  double first_byte_s = 0.0;  // from the request's end to the first byte of the answer
  double total_s = 0.0;
  const char* outcome = "answered";  // refused, client_left, client_too_slow
};

std::string access_line(const AccessRecord& record);

}  // namespace dure
