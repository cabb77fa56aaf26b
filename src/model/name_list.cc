// See name_list.h.
#include "model/name_list.h"

#include <algorithm>

#include "model/name_pattern.h"

namespace dure {
namespace {

constexpr std::string_view is_expression = "re:";

std::string_view without_end(std::string_view name, std::string_view end) {
  if (name.size() > end.size() && name.ends_with(end)) name.remove_suffix(end.size());
  return name;
}

// Where components begin, and one past where the last would.
std::vector<size_t> beginnings_of(std::string_view name) {
  std::vector<size_t> beginnings = {0};
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.') beginnings.push_back(i + 1);
  }
  beginnings.push_back(name.size() + 1);
  return beginnings;
}

// Of the whole text, or of one or more components at its beginning.
bool glob_matches(std::string_view glob, std::string_view text) {
  size_t g = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t retry = 0;
  for (;;) {
    if (g == glob.size() && (t == text.size() || text[t] == '.')) return true;
    if (g < glob.size() && glob[g] == '*') {
      star = ++g;
      retry = t;
      if (g == glob.size()) return true;
    } else if (g < glob.size() && t < text.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos && retry < text.size()) {
      g = star;
      t = ++retry;
    } else {
      return false;
    }
  }
}

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool NameList::add(std::string_view entry) {
  if (entry.starts_with(is_expression)) {
    entry.remove_prefix(is_expression.size());
    const auto pattern = NamePattern::parse(entry);
    if (!pattern) return false;
    patterns_.push_back(std::make_shared<const NamePattern>(*pattern));
    // [^…] and \d name digits without writing them.
    tells_layers_apart_ |= has_digit(entry) || entry.find('[') != entry.npos ||
                           entry.find("\\d") != entry.npos || entry.find("\\w") != entry.npos;
    return true;
  }
  // Some tools list the layer that they wrapped around the module's own.
  entry = without_end(without_end(entry, ".weight"), ".linear");
  tells_layers_apart_ |= has_digit(entry) || entry.find('?') != entry.npos;
  const bool glob = entry.find_first_of("*?") != entry.npos;
  if (glob) {
    globs_.emplace_back(entry);
  } else {
    names_.emplace(entry);
  }
  return true;
}

bool NameList::holds(std::string_view name) const {
  if (empty()) return false;
  name = without_end(name, ".weight");
  const std::vector<size_t> beginnings = beginnings_of(name);
  for (size_t first = 0; first + 1 < beginnings.size(); ++first) {
    const size_t begin = beginnings[first];
    for (size_t last = first + 1; last < beginnings.size() && !names_.empty(); ++last) {
      if (names_.find(name.substr(begin, beginnings[last] - 1 - begin)) != names_.end()) {
        return true;
      }
    }
    const std::string_view rest = name.substr(begin);
    const auto matches = [rest](const std::string& glob) { return glob_matches(glob, rest); };
    if (std::any_of(globs_.begin(), globs_.end(), matches)) return true;
  }
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [name](const auto& pattern) { return pattern->matches(name); });
}

}  // namespace dure
