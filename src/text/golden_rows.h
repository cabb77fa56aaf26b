// Reading recorded rows and counting how they went.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "text/golden.h"

namespace dure {

class GoldenTally {
 public:
  explicit GoldenTally(std::string name);
  // One case; `why` says how it failed and is empty if it passed.
  void add(const std::string& name, const std::string& why);
  GoldenKind take() { return std::move(kind_); }

 private:
  GoldenKind kind_;
};

// Throw bad_input if the file cannot be read. Empty lines are left out.
void for_each_line(const std::filesystem::path& path,
                   const std::function<void(std::string_view)>& visit);
std::string read_text_file(const std::filesystem::path& path);

}  // namespace dure
