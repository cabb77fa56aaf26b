// Literal and regular-expression patterns behind one search.
#include "text/pattern.h"

#include <nlohmann/json.hpp>

#include "text/component.h"

namespace dure {

Pattern Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

Pattern Pattern::regex(std::string_view source, std::string_view what) {
  Pattern pattern;
  pattern.regex_ = std::make_unique<const Regex>(source, what);
  return pattern;
}

Pattern Pattern::parse(const Json& pattern, std::string_view what) {
  if (!pattern.is_object() || pattern.size() != 1)
    component::refuse(what, "'pattern' must be {\"String\": ...} or {\"Regex\": ...}");
  if (pattern.contains("String")) return literal(component::text(pattern, "String", what));
  return regex(component::text(pattern, "Regex", what), what);
}

void Pattern::find_all(std::string_view text, Regex::Scratch& scratch,
                       std::vector<Regex::Match>& out) const {
  if (regex_) {
    regex_->find_all(text, scratch, out);
    return;
  }
  out.clear();
  if (literal_.empty()) return;
  for (size_t at = text.find(literal_); at != std::string_view::npos;
       at = text.find(literal_, at + literal_.size()))
    out.push_back({at, at + literal_.size()});
}

}  // namespace dure
