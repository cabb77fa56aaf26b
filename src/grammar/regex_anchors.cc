// See regex_anchors.h.
#include "grammar/regex_anchors.h"

#include <fmt/format.h>

#include "base/error.h"

namespace dure::grammar {
namespace {

using Kind = Expression::Kind;

// Removes anchors in place. at_begin: nothing can stand before the expression; at_end likewise.
void drop_anchors(Expression& e, bool at_begin, bool at_end, std::string_view what) {
  switch (e.kind) {
    case Kind::begin:
    case Kind::end:
      if (e.kind == Kind::begin ? !at_begin : !at_end) {
        throw_bad_input(fmt::format("{}: the anchor '{}' in the middle of the pattern", what,
                                    e.kind == Kind::begin ? '^' : '$'),
                        "anchors are understood at the ends only");
      }
      e = empty_text();
      return;
    case Kind::sequence: {
      size_t first = 0, last = e.parts.size();
      while (first < last && e.parts[first].kind == Kind::begin) ++first;
      while (last > first && e.parts[last - 1].kind == Kind::end) --last;
      for (size_t i = 0; i < e.parts.size(); ++i) {
        drop_anchors(e.parts[i], at_begin && i <= first, at_end && i + 1 >= last, what);
      }
      return;
    }
    case Kind::choice:
      for (Expression& part : e.parts) drop_anchors(part, at_begin, at_end, what);
      return;
    case Kind::repeat:
      drop_anchors(e.parts[0], false, false, what);
      return;
    default:
      return;
  }
}

Expression anything() {
  return repeat(characters(CodePoints::all()), 0, unbounded);
}

}  // namespace

Expression without_anchors(Expression e, std::string_view what) {
  drop_anchors(e, true, true, what);
  return e;
}

Expression anchored_search(Expression e, std::string_view what) {
  if (e.kind == Kind::choice) {
    for (Expression& part : e.parts) part = anchored_search(std::move(part), what);
    return e;
  }
  if (e.kind != Kind::sequence) {
    std::vector<Expression> parts;
    parts.push_back(std::move(e));
    e = Expression();
    e.parts = std::move(parts);
  }
  const bool begins = !e.parts.empty() && e.parts.front().kind == Kind::begin;
  const bool ends = !e.parts.empty() && e.parts.back().kind == Kind::end;
  drop_anchors(e, begins, ends, what);
  std::vector<Expression> parts;
  if (!begins) parts.push_back(anything());
  parts.push_back(std::move(e));
  if (!ends) parts.push_back(anything());
  return sequence(std::move(parts));
}

}  // namespace dure::grammar
