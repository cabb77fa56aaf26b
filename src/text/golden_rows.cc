// Files of rows, and the tally of a set.
#include "text/golden_rows.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "base/error.h"

namespace dure {
namespace {

constexpr size_t shown_failures = 5;

std::ifstream open(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_bad_input(fmt::format("{}: cannot be read", path.string()));
  return file;
}

}  // namespace

GoldenTally::GoldenTally(std::string name) {
  kind_.name = std::move(name);
}

void GoldenTally::add(const std::string& name, const std::string& why) {
  if (why.empty()) {
    ++kind_.passed;
    return;
  }
  ++kind_.failed;
  if (kind_.failures.size() < shown_failures) {
    kind_.failures.push_back(fmt::format("{}: {}", name, why));
  }
}

void for_each_line(const std::filesystem::path& path,
                   const std::function<void(std::string_view)>& visit) {
  std::ifstream file = open(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) visit(line);
  }
}

std::string read_text_file(const std::filesystem::path& path) {
  std::ifstream file = open(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace dure
