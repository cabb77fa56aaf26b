// The methods of str that cut, join and replace.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_interpreter.h"
#include "text/jinja_methods.h"
#include "text/jinja_replace.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

Value piece(Interpreter& run, const Value& self, std::string_view bytes) {
  return run.text(std::string(bytes), self.as_text().kind);
}

// At most `limit` cuts at white space, from the left.
std::vector<std::string_view> words(std::string_view text, size_t limit) {
  std::vector<std::string_view> out;
  text = py_strip(text, Side::left);
  while (!text.empty()) {
    if (out.size() == limit) {
      out.push_back(py_strip(text, Side::right));
      return out;
    }
    size_t end = 0;
    while (end < text.size() && !py_is_space(code_point_at(text, end).code)) {
      end += code_point_at(text, end).bytes;
    }
    out.push_back(text.substr(0, end));
    text = py_strip(text.substr(end), Side::left);
  }
  return out;
}

// The same from the right.
std::vector<std::string_view> words_from_right(std::string_view text, size_t limit) {
  std::vector<std::string_view> out;
  text = py_strip(text, Side::right);
  while (!text.empty()) {
    if (out.size() == limit) {
      out.push_back(py_strip(text, Side::left));
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      size_t before = begin - 1;
      while (before > 0 && (static_cast<unsigned char>(text[before]) & 0xC0) == 0x80) --before;
      if (py_is_space(code_point_at(text, before).code)) break;
      begin = before;
    }
    out.push_back(text.substr(begin));
    text = py_strip(text.substr(0, begin), Side::right);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> cut(std::string_view text, std::string_view separator, size_t limit) {
  std::vector<std::string_view> out;
  size_t from = 0;
  while (out.size() < limit) {
    const size_t at = find_text(text, separator, from);
    if (at == text.npos) break;
    out.push_back(text.substr(from, at - from));
    from = at + separator.size();
  }
  out.push_back(text.substr(from));
  return out;
}

std::vector<std::string_view> cut_from_right(std::string_view text, std::string_view separator,
                                             size_t limit) {
  std::vector<std::string_view> out;
  while (out.size() < limit) {
    const size_t at = text.rfind(separator);
    if (at == text.npos) break;
    out.push_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  out.push_back(text);
  std::reverse(out.begin(), out.end());
  return out;
}

template <bool from_right>
Value split(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "split()", {"sep", "maxsplit"});
  const int64_t most = given[1] ? to_index(*given[1], "maxsplit") : -1;
  const size_t limit = most < 0 ? std::string::npos : static_cast<size_t>(most);
  const std::string_view text = self.bytes();
  run.budget().step_text(text.size());
  std::vector<std::string_view> parts;
  if (!given[0] || given[0]->is_none()) {
    parts = from_right ? words_from_right(text, limit) : words(text, limit);
  } else {
    const std::string& separator = text_argument(*given[0], "split() separator");
    if (separator.empty()) fail_value("empty separator");
    if (from_right) run.budget().step_text(text.size() * separator.size());
    parts = from_right ? cut_from_right(text, separator, limit) : cut(text, separator, limit);
  }
  run.budget().check_items(parts.size());
  std::vector<Value> out;
  out.reserve(parts.size());
  for (const std::string_view part : parts) out.push_back(piece(run, self, part));
  return run.list(std::move(out));
}

Value splitlines(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "splitlines()", {"keepends"});
  run.budget().step_text(self.bytes().size() * 4);
  const auto lines = py_splitlines(self.bytes(), given[0] && truth(*given[0]));
  run.budget().check_items(lines.size());
  std::vector<Value> out;
  out.reserve(lines.size());
  for (const std::string_view line : lines) out.push_back(piece(run, self, line));
  return run.list(std::move(out));
}

template <bool from_right>
Value partition(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "partition()", {"sep"}, 1);
  const std::string_view text = self.bytes();
  const std::string& separator = text_argument(*given[0], "partition() separator");
  if (separator.empty()) fail_value("empty separator");
  run.budget().step_text(text.size() * (from_right ? separator.size() : 1));
  const size_t at = from_right ? text.rfind(separator) : find_text(text, separator);
  if (at == text.npos) {
    const Value none = Value::text("");
    return from_right ? run.tuple({none, none, self}) : run.tuple({self, none, none});
  }
  return run.tuple({piece(run, self, text.substr(0, at)), piece(run, self, separator),
                    piece(run, self, text.substr(at + separator.size()))});
}

Value join(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "join()", {"iterable"}, 1);
  Iterator items(run, *given[0]);
  std::string out;
  size_t count = 0;
  for (Value item; items.next(item); ++count) {
    if (!item.is_string()) {
      fail_type(
          fmt::format("sequence item {}: expected str instance, {} found", count, type_name(item)));
    }
    if (count > 0) out += self.bytes();
    out += item.bytes();
    run.budget().step_text(self.bytes().size() + item.bytes().size());
    run.budget().check_text(out.size());
  }
  return piece(run, self, out);
}

Value replace(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "replace()", {"old", "new", "count"}, 2);
  const int64_t most = given[2] ? to_index(*given[2], "the count") : -1;
  return replace_text(run, self, text_argument(*given[0], "replace() argument 1"),
                      text_argument(*given[1], "replace() argument 2"), most);
}

Value expandtabs(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "expandtabs()", {"tabsize"});
  const int64_t size = given[0] ? to_index(*given[0], "the tab size") : 8;
  run.budget().check_text(size > 0 ? static_cast<size_t>(size) : 0);
  std::string out;
  size_t column = 0;
  const std::string& text = self.bytes();
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (point.code == '\t') {
      const size_t stop = size > 0 ? static_cast<size_t>(size) : 1;
      const size_t spaces = size > 0 ? stop - column % stop : 0;
      out.append(spaces, ' ');
      column += spaces;
      run.budget().step_text(spaces);
      run.budget().check_text(out.size());
    } else {
      out.append(text, i, point.bytes);
      column = point.code == '\n' || point.code == '\r' ? 0 : column + 1;
    }
    i += point.bytes;
  }
  return piece(run, self, out);
}

[[noreturn]] Value refuse_translate(Interpreter&, const Value&, const Arguments&) {
  throw JinjaError(Fault::unsupported, "the methods translate() and maketrans() of str");
}

}  // namespace

Value replace_text(Interpreter& run, const Value& self, std::string_view from, std::string_view to,
                   int64_t most) {
  const std::string_view text = self.bytes();
  std::string out;
  size_t at = 0;
  const auto grow = [&](std::string_view part) {
    out += part;
    run.budget().step_text(part.size());
    run.budget().check_text(out.size());
  };
  for (int64_t done = 0; most < 0 || done < most; ++done) {
    if (from.empty()) {
      // Between all characters, and at both ends.
      grow(to);
      if (at == text.size()) return piece(run, self, out);
      const size_t bytes = code_point_at(text, at).bytes;
      grow(text.substr(at, bytes));
      at += bytes;
      continue;
    }
    const size_t found = find_text(text, from, at);
    if (found == text.npos) break;
    grow(text.substr(at, found - at));
    grow(to);
    at = found + from.size();
  }
  grow(text.substr(at));
  return piece(run, self, out);
}

Method find_split_method(std::string_view name) {
  if (name == "split") return &split<false>;
  if (name == "rsplit") return &split<true>;
  if (name == "splitlines") return &splitlines;
  if (name == "partition") return &partition<false>;
  if (name == "rpartition") return &partition<true>;
  if (name == "join") return &join;
  if (name == "replace") return &replace;
  if (name == "expandtabs") return &expandtabs;
  if (name == "translate" || name == "maketrans") return &refuse_translate;
  return nullptr;
}

}  // namespace dure::jinja
