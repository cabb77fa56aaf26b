// Something that whoever runs a server wants to know: one line of its log, as text or as JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dure {

enum class Level : uint8_t { info, warning, error };

// What is not known is -1 or empty, and left out of the line.
struct Event {
  Level level = Level::info;
  std::string name;          // "group_died": for programs, never changed
  std::string message = {};  // for people
  std::string hint = {};
  std::string cause = {};
  std::string request = {};  // its id
  int32_t rank = -1;
  int32_t pid = -1;
  std::string host = {};
  int64_t step = -1;
  std::string operation = {};
  int32_t layer = -1;
  std::vector<std::pair<std::string, double>> numbers = {};  // further fields
};

// "warning: …": errors, too, are warnings of a server that goes on.
std::string text_of(const Event& event);
// One line of JSON: time, level, event, message, then what is known of the rest.
std::string json_of(const Event& event, std::chrono::system_clock::time_point time);

enum class LogFormat : uint8_t { text, json };
std::string line_of(const Event& event, LogFormat format);  // now

}  // namespace dure
