// Normalizer steps in the order of the file.
#include "text/normalizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "text/component.h"
#include "text/nfc.h"

namespace dure {
namespace {

constexpr int max_depth = 16;

std::string replaced(const std::string& text, const Pattern& pattern, const std::string& content,
                     Regex::Scratch& scratch) {
  std::vector<Regex::Match> matches;
  pattern.find_all(text, scratch, matches);
  if (matches.empty()) return text;
  std::string out;
  out.reserve(text.size());
  size_t done = 0;
  for (const Regex::Match& match : matches) {
    out.append(text, done, match.begin - done);
    out += content;
    done = match.end;
  }
  return out.append(text, done);
}

}  // namespace

Normalizer Normalizer::parse(const Json& component, std::string_view what) {
  Normalizer normalizer;
  if (!component.is_null()) normalizer.add(component, what, 0);
  return normalizer;
}

void Normalizer::add(const Json& component, std::string_view what, int depth) {
  const std::string type = component::type(component, what);
  if (type == "Sequence") {
    component::only_keys(component, {"normalizers"}, what);
    if (depth > max_depth) component::refuse(what, "sequences are nested too deeply");
    int index = 0;
    for (const Json& child : component::list(component, "normalizers", what))
      add(child, fmt::format("{}.normalizers[{}]", what, index++), depth + 1);
  } else if (type == "NFC") {
    component::only_keys(component, {}, what);
    steps_.push_back(Nfc{});
  } else if (type == "Replace") {
    component::only_keys(component, {"pattern", "content"}, what);
    steps_.push_back(Replace{Pattern::parse(component::field(component, "pattern", what), what),
                             component::text(component, "content", what)});
  } else if (type == "Prepend") {
    component::only_keys(component, {"prepend"}, what);
    steps_.push_back(Prepend{component::text(component, "prepend", what)});
  } else {
    component::refuse(what, fmt::format("the normalizer '{}' is not implemented", type));
  }
}

std::string Normalizer::apply(std::string text, Regex::Scratch& scratch) const {
  for (const Step& step : steps_) {
    if (std::holds_alternative<Nfc>(step))
      text = nfc(text);
    else if (const auto* replace = std::get_if<Replace>(&step))
      text = replaced(text, replace->pattern, replace->content, scratch);
    else if (!text.empty())
      text.insert(0, std::get<Prepend>(step).content);
  }
  return text;
}

}  // namespace dure
