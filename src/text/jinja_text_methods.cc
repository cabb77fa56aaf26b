// The methods of str that search, compare, pad, change case or ask for a class of characters.
#include <fmt/format.h>

#include <unordered_map>

#include "text/jinja_interpreter.h"
#include "text/jinja_methods.h"
#include "text/python_format.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

// A result of the same kind as the text it was made from: markup stays markup.
Value like(Interpreter& run, const Value& self, std::string bytes) {
  return run.text(std::move(bytes), self.as_text().kind);
}

template <std::string (*convert)(std::string_view)>
Value convert_text(Interpreter& run, const Value& self, const Arguments& arguments) {
  bind(arguments, "this method", {});
  run.budget().step_text(self.bytes().size() * 8);
  return like(run, self, convert(self.bytes()));
}

template <Side side>
Value strip(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "strip()", {"chars"});
  if (!given[0] || given[0]->is_none()) {
    return like(run, self, std::string(py_strip(self.bytes(), side)));
  }
  const std::string_view chars = text_argument(*given[0], "strip() argument");
  run.budget().step_text(self.bytes().size() * std::min<size_t>(chars.size(), 4096));
  return like(run, self, std::string(py_strip(self.bytes(), side, &chars)));
}

// Python's answer as a code-point index; npos is -1.
Value position(const Value& self, size_t at) {
  if (at == std::string::npos) return Value::integer(-1);
  const std::string_view before = std::string_view(self.bytes()).substr(0, at);
  return Value::integer(
      static_cast<int64_t>(self.as_text().one_byte_each() ? at : count_code_points(before)));
}

template <bool backward>
size_t search(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "find()", {"sub", "start", "end"}, 1);
  const std::string& wanted = text_argument(*given[0], "find() argument");
  const Span span = search_span(self, given[1], given[2]);
  if (span.begin > span.end) return std::string::npos;
  const std::string_view text = std::string_view(self.bytes()).substr(0, span.end);
  run.budget().step_text(text.size() * (backward ? std::max<size_t>(wanted.size(), 1) : 1));
  if (!backward) return find_text(text, wanted, span.begin);
  const size_t at = text.rfind(wanted);
  return at != std::string::npos && at < span.begin ? std::string::npos : at;
}

template <bool backward>
Value find(Interpreter& run, const Value& self, const Arguments& arguments) {
  return position(self, search<backward>(run, self, arguments));
}

template <bool backward>
Value index(Interpreter& run, const Value& self, const Arguments& arguments) {
  const size_t at = search<backward>(run, self, arguments);
  if (at == std::string::npos) fail_value("substring not found");
  return position(self, at);
}

Value count(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "count()", {"sub", "start", "end"}, 1);
  const std::string& wanted = text_argument(*given[0], "count() argument");
  const Span span = search_span(self, given[1], given[2]);
  if (span.begin > span.end) return Value::integer(0);
  const std::string_view text =
      std::string_view(self.bytes()).substr(span.begin, span.end - span.begin);
  run.budget().step_text(text.size());
  if (wanted.empty()) return Value::integer(static_cast<int64_t>(count_code_points(text)) + 1);
  int64_t found = 0;
  for (size_t at = find_text(text, wanted); at != text.npos;
       at = find_text(text, wanted, at + wanted.size())) {
    ++found;
  }
  return Value::integer(found);
}

template <bool at_end>
Value has_affix(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "startswith()", {"prefix", "start", "end"}, 1);
  const Span span = search_span(self, given[1], given[2]);
  const auto matches = [&](const Value& affix) {
    const std::string& wanted = text_argument(affix, "startswith() argument");
    if (span.begin > span.end) return false;
    const std::string_view text =
        std::string_view(self.bytes()).substr(span.begin, span.end - span.begin);
    run.budget().step_text(wanted.size());
    return at_end ? text.ends_with(wanted) : text.starts_with(wanted);
  };
  if (!given[0]->is_sequence(SequenceKind::tuple)) return Value::boolean(matches(*given[0]));
  for (const Value& affix : given[0]->as_sequence().items) {
    if (matches(affix)) return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <bool at_end>
Value remove_affix(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "removeprefix()", {"affix"}, 1);
  std::string_view text = self.bytes();
  const std::string& affix = text_argument(*given[0], "removeprefix() argument");
  if (at_end && text.ends_with(affix)) text.remove_suffix(affix.size());
  if (!at_end && text.starts_with(affix)) text.remove_prefix(affix.size());
  return like(run, self, std::string(text));
}

// Pads to a width in code points; `left_share` is how the padding divides.
enum class Pad { left, right, both };
template <Pad pad>
Value justify(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "ljust()", {"width", "fillchar"}, 1);
  const int64_t width = to_index(*given[0], "the width");
  const std::string fill =
      given[1] ? text_argument(*given[1], "the fill character") : std::string(" ");
  if (count_code_points(fill) != 1) {
    fail_type("The fill character must be exactly one character long");
  }
  const int64_t length = static_cast<int64_t>(self.as_text().length);
  if (width <= length) return self;
  const size_t missing = static_cast<size_t>(width - length);
  run.budget().check_text(missing);
  // As CPython centres: the odd one goes left when the width is odd too.
  const size_t centred = missing / 2 + (missing & static_cast<size_t>(width) & 1);
  const size_t left = pad == Pad::left ? missing : pad == Pad::right ? 0 : centred;
  std::string out;
  for (size_t i = 0; i < left; ++i) out += fill;
  out += self.bytes();
  for (size_t i = left; i < missing; ++i) out += fill;
  return like(run, self, std::move(out));
}

Value zfill(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "zfill()", {"width"}, 1);
  const int64_t width = to_index(*given[0], "the width");
  const int64_t length = static_cast<int64_t>(self.as_text().length);
  if (width <= length) return self;
  const size_t missing = static_cast<size_t>(width - length);
  run.budget().check_text(missing);
  std::string out = self.bytes();
  const bool sign = !out.empty() && (out[0] == '+' || out[0] == '-');
  out.insert(sign ? 1 : 0, missing, '0');
  return like(run, self, std::move(out));
}

Value encode(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "encode()", {"encoding", "errors"});
  if (given[0]) {
    const std::string name = py_lower(text_argument(*given[0], "the encoding"));
    if (name != "utf-8" && name != "utf8" && name != "utf_8") {
      throw JinjaError(Fault::unsupported, fmt::format("the encoding '{}'", name));
    }
  }
  return run.text(self.bytes(), TextKind::bytes);
}

Value format(Interpreter& run, const Value& self, const Arguments& arguments) {
  return py_format(run, self, arguments);
}

Value format_map(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "format_map()", {"mapping"}, 1);
  if (!given[0]->is(Kind::dict)) fail_type("format_map() needs a mapping");
  Arguments named;
  for (const auto& [key, value] : given[0]->as_dict().entries) {
    if (key.is_string()) named.keyword.emplace_back(key.bytes(), value);
  }
  return py_format(run, self, named);
}

// Whether the text is not empty and all its characters are of a class.
template <bool (*is_member)(uint32_t)>
Value all_of(Interpreter& run, const Value& self, const Arguments& arguments) {
  bind(arguments, "this method", {});
  const std::string& text = self.bytes();
  run.budget().step_text(text.size() * 4);
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (!is_member(point.code)) return Value::boolean(false);
    i += point.bytes;
  }
  return Value::boolean(!text.empty() || is_member == &py_is_printable);
}

// Whether there are cased characters and all of them have this case.
template <bool upper>
Value is_case(Interpreter& run, const Value& self, const Arguments& arguments) {
  bind(arguments, "isupper()", {});
  run.budget().step_text(self.bytes().size() * 4);
  return Value::boolean(upper ? py_all_upper(self.bytes()) : py_all_lower(self.bytes()));
}

Value isascii(Interpreter&, const Value& self, const Arguments& arguments) {
  bind(arguments, "isascii()", {});
  return Value::boolean(self.as_text().one_byte_each());
}

Value istitle(Interpreter& run, const Value& self, const Arguments& arguments) {
  bind(arguments, "istitle()", {});
  const std::string& text = self.bytes();
  run.budget().step_text(text.size() * 4);
  bool after_cased = false, any = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    i += point.bytes;
    const bool opens = py_is_upper(point.code) || py_is_title(point.code);
    const bool follows = py_is_lower(point.code);
    if ((opens && after_cased) || (follows && !after_cased)) return Value::boolean(false);
    after_cased = opens || follows;
    any |= after_cased;
  }
  return Value::boolean(any);
}

Value isidentifier(Interpreter&, const Value& self, const Arguments& arguments) {
  bind(arguments, "isidentifier()", {});
  const std::string& text = self.bytes();
  bool valid = !text.empty();
  for (size_t i = 0; i < text.size() && valid;) {
    const CodePoint point = code_point_at(text, i);
    valid = point.code == '_' || (i == 0 ? py_is_alpha(point.code) : py_is_alnum(point.code));
    i += point.bytes;
  }
  return Value::boolean(valid);
}

}  // namespace

Method find_text_method(std::string_view name) {
  static const std::unordered_map<std::string_view, Method> methods = {
      {"upper", &convert_text<&py_upper>},
      {"lower", &convert_text<&py_lower>},
      {"casefold", &convert_text<&py_casefold>},
      {"title", &convert_text<&py_title>},
      {"capitalize", &convert_text<&py_capitalize>},
      {"swapcase", &convert_text<&py_swapcase>},
      {"strip", &strip<Side::both>},
      {"lstrip", &strip<Side::left>},
      {"rstrip", &strip<Side::right>},
      {"find", &find<false>},
      {"rfind", &find<true>},
      {"index", &index<false>},
      {"rindex", &index<true>},
      {"count", &count},
      {"startswith", &has_affix<false>},
      {"endswith", &has_affix<true>},
      {"removeprefix", &remove_affix<false>},
      {"removesuffix", &remove_affix<true>},
      {"ljust", &justify<Pad::right>},
      {"rjust", &justify<Pad::left>},
      {"center", &justify<Pad::both>},
      {"zfill", &zfill},
      {"encode", &encode},
      {"format", &format},
      {"format_map", &format_map},
      {"isalpha", &all_of<&py_is_alpha>},
      {"isalnum", &all_of<&py_is_alnum>},
      {"isdecimal", &all_of<&py_is_decimal>},
      {"isdigit", &all_of<&py_is_digit>},
      {"isnumeric", &all_of<&py_is_numeric>},
      {"isspace", &all_of<&py_is_space>},
      {"isprintable", &all_of<&py_is_printable>},
      {"isupper", &is_case<true>},
      {"islower", &is_case<false>},
      {"istitle", &istitle},
      {"isascii", &isascii},
      {"isidentifier", &isidentifier},
  };
  const auto found = methods.find(name);
  return found == methods.end() ? nullptr : found->second;
}

}  // namespace dure::jinja
