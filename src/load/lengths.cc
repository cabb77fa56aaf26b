// See lengths.h.
#include "load/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/error.h"
#include "base/units.h"

namespace dure::load {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view what) {
  throw_bad_input(fmt::format("{}: '{:.60}' is not a length in tokens", what, text),
                  "write 128, 20..3000, 512~128 (mean ~ deviation), or a mixture: "
                  "128:9,20..3000:1",
                  std::string(what));
}

int64_t tokens_of(std::string_view text, std::string_view what) {
  const int64_t tokens = parse_count(text, what);
  if (tokens > most_tokens) {
    throw_bad_input(fmt::format("{}: {} tokens are more than {}", what, format_count(tokens),
                                format_count(most_tokens)),
                    "no model has such a context", std::string(what));
  }
  return tokens;
}

}  // namespace

Lengths::Lengths(int64_t tokens) {
  parts_.push_back({.least = tokens, .most = tokens});
}

Lengths::Part Lengths::parse_part(std::string_view text, std::string_view what) {
  Part part;
  const std::string_view whole = text;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    const std::string_view weight = text.substr(colon + 1);
    const auto [end, status] = std::from_chars(weight.data(), weight.data() + weight.size(),
                                               part.weight, std::chars_format::fixed);
    const bool whole_read = end == weight.data() + weight.size();
    if (status != std::errc() || !whole_read || !(part.weight > 0.0 && part.weight < 1e9)) {
      refuse(whole, what);
    }
    text = text.substr(0, colon);
  }
  if (const size_t dots = text.find(".."); dots != std::string_view::npos) {
    part.least = tokens_of(text.substr(0, dots), what);
    part.most = tokens_of(text.substr(dots + 2), what);
    if (part.least > part.most) refuse(whole, what);
  } else if (const size_t tilde = text.find('~'); tilde != std::string_view::npos) {
    part.least = part.most = tokens_of(text.substr(0, tilde), what);
    part.deviation = tokens_of(text.substr(tilde + 1), what);
  } else {
    part.least = part.most = tokens_of(text, what);
  }
  return part;
}

Lengths Lengths::parse(std::string_view text, std::string_view what) {
  Lengths lengths;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    lengths.parts_.push_back(parse_part(text.substr(begin, comma - begin), what));
    begin = comma + 1;
  }
  return lengths;
}

int64_t Lengths::draw(Draws& draws) const {
  double all = 0.0;
  for (const Part& part : parts_) all += part.weight;
  // Drawn even where there is one part, so that its neighbours' draws do not depend on that.
  double at = draws.uniform() * all;
  const Part* chosen = &parts_.back();
  for (const Part& part : parts_) {
    if (at < part.weight) {
      chosen = &part;
      break;
    }
    at -= part.weight;
  }
  if (chosen->deviation == 0) return draws.between(chosen->least, chosen->most);
  const double length = std::round(static_cast<double>(chosen->least) +
                                   draws.normal() * static_cast<double>(chosen->deviation));
  return static_cast<int64_t>(std::clamp(length, 1.0, static_cast<double>(most_tokens)));
}

}  // namespace dure::load
