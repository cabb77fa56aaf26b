// Filters on text.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_filter_support.h"
#include "text/jinja_json.h"
#include "text/jinja_methods.h"
#include "text/jinja_replace.h"
#include "text/python_format.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

template <std::string (*convert)(std::string_view)>
Value convert_text(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "this filter", {});
  const Value text = soft_text(run, input);
  run.budget().step_text(text.bytes().size() * 8);
  return run.text(convert(text.bytes()), text.as_text().kind);
}

// Jinja's own title: a word begins behind white space, a hyphen or an opening bracket.
std::string title(std::string_view text) {
  std::string out;
  const auto breaks = [](uint32_t c) {
    return py_is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && breaks(code_point_at(text, end).code)) {
      end += code_point_at(text, end).bytes;
    }
    out += text.substr(i, end - i);
    i = end;
    if (i == text.size()) break;
    while (end < text.size() && !breaks(code_point_at(text, end).code)) {
      end += code_point_at(text, end).bytes;
    }
    const size_t first = code_point_at(text, i).bytes;
    out += py_upper(text.substr(i, first));
    out += py_lower(text.substr(i + first, end - i - first));
    i = end;
  }
  return out;
}

Value trim(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "trim", {"chars"});
  const Value text = soft_text(run, input);
  if (!given[0] || given[0]->is_none()) {
    return run.text(std::string(py_strip(text.bytes(), Side::both)), text.as_text().kind);
  }
  const std::string_view chars = text_argument(*given[0], "trim argument");
  run.budget().step_text(text.bytes().size() * std::min<size_t>(chars.size(), 4096));
  return run.text(std::string(py_strip(text.bytes(), Side::both, &chars)), text.as_text().kind);
}

Value replace(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "replace", {"old", "new", "count"}, 2);
  const bool all = !given[2] || given[2]->is_none();
  const Value text = run.text(run.str(input));
  return replace_text(run, text, run.str(*given[0]), run.str(*given[1]),
                      all ? -1 : to_index(*given[2], "the count"));
}

Value indent(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "indent", {"width", "first", "blank"});
  std::string margin(4, ' ');
  if (given[0] && given[0]->is_string()) {
    margin = given[0]->bytes();
  } else if (given[0]) {
    const int64_t width = to_index(*given[0], "the width");
    run.budget().check_text(width > 0 ? static_cast<size_t>(width) : 0);
    margin.assign(width > 0 ? static_cast<size_t>(width) : 0, ' ');
  }
  if (!input.is_string()) {
    if (input.is_undefined()) fail_undefined(input);
    fail_type(fmt::format("unsupported operand type(s) for +=: '{}' and 'str'", type_name(input)));
  }
  const bool blank = flag(given[2], false);
  // The newline behind keeps an empty last line.
  const std::string text = input.bytes() + "\n";
  std::string out = flag(given[1], false) ? margin : "";
  const auto lines = py_splitlines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].empty())) out += margin;
    out += lines[i];
    run.budget().step_text(margin.size() + lines[i].size());
    run.budget().check_text(out.size());
  }
  return run.text(std::move(out), input.as_text().kind);
}

Value center(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "center", {"width"});
  Arguments width;
  width.positional.push_back(given[0].value_or(Value::integer(80)));
  return find_text_method("center")(run, soft_text(run, input), width);
}

Value wordcount(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "wordcount", {});
  const Value text = soft_text(run, input);
  run.budget().step_text(text.bytes().size() * 4);
  int64_t words = 0;
  bool inside = false;
  for (size_t i = 0; i < text.bytes().size();) {
    const CodePoint point = code_point_at(text.bytes(), i);
    const bool word = point.code == '_' || py_is_alnum(point.code);
    words += word && !inside;
    inside = word;
    i += point.bytes;
  }
  return Value::integer(words);
}

Value truncate(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "truncate", {"length", "killwords", "end", "leeway"});
  const Value text = soft_text(run, input);
  const std::string end = given[2] ? text_argument(*given[2], "the end") : std::string("...");
  const int64_t length = given[0] ? to_index(*given[0], "the length") : 255;
  const int64_t leeway = given[3] && !given[3]->is_none() ? to_index(*given[3], "the leeway") : 5;
  const int64_t tail = static_cast<int64_t>(count_code_points(end));
  if (length < tail || leeway < 0) fail_value("truncate needs a length of at least its end's");
  const int64_t size = static_cast<int64_t>(text.as_text().length);
  if (size <= length || size - length <= leeway) return text;
  std::string kept =
      text.bytes().substr(0, byte_offset(text.bytes(), static_cast<size_t>(length - tail)));
  if (!flag(given[1], false)) kept = kept.substr(0, kept.rfind(' '));
  return run.text(kept + end, text.as_text().kind);
}

// In a path slashes stay; in a query string spaces become plus signs.
Value urlencode_text(Interpreter& run, std::string_view text, bool path) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("_.-~").find(c) != std::string_view::npos;
    if (plain || (c == '/' && path)) {
      out += c;
    } else if (c == ' ' && !path) {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return run.text(std::move(out));
}

Value urlencode(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "urlencode", {});
  const bool pairs = input.is(Kind::dict) || (input.is(Kind::sequence));
  if (!pairs) return urlencode_text(run, run.str(input), true);
  std::string out;
  const auto add = [&](const Value& key, const Value& value) {
    if (!out.empty()) out += '&';
    out += urlencode_text(run, run.str(key), false).bytes() + "=" +
           urlencode_text(run, run.str(value), false).bytes();
  };
  if (input.is(Kind::dict)) {
    for (const auto& [key, value] : input.as_dict().entries) add(key, value);
  } else {
    for (const Value& item : input.as_sequence().items) {
      const std::vector<Value> pair = run.to_items(item);
      if (pair.size() != 2) fail_value("urlencode needs pairs");
      add(pair[0], pair[1]);
    }
  }
  return run.text(std::move(out));
}

Value string(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "string", {});
  return soft_text(run, input);
}

Value escape(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "escape", {});
  return escape_html(run.budget(), input);
}

Value force_escape(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "forceescape", {});
  return escape_html(run.budget(), run.text(run.str(input)));
}

Value safe(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "safe", {});
  return run.text(run.str(input), TextKind::markup);
}

Value striptags(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "striptags", {});
  const std::string text = run.str(input);
  std::string out;
  bool tag = false;
  for (const char c : text) {
    if (c == '<') tag = true;
    if (!tag) out += c;
    if (c == '>') tag = false;
  }
  // Runs of white space become one space.
  std::string joined;
  Arguments none;
  const Value words = find_split_method("split")(run, run.text(std::move(out)), none);
  for (const Value& word : words.as_sequence().items) {
    if (!joined.empty()) joined += ' ';
    joined += word.bytes();
  }
  return run.text(std::move(joined));
}

Value format(Interpreter& run, const Value& input, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.keyword.empty()) {
    fail_type("can't handle positional and keyword arguments at the same time");
  }
  const Value text = soft_text(run, input);
  if (arguments.keyword.empty()) {
    return py_percent_format(run.budget(), text, run.tuple(arguments.positional));
  }
  std::vector<std::pair<Value, Value>> named;
  for (const auto& [key, value] : arguments.keyword) named.emplace_back(Value::text(key), value);
  return py_percent_format(run.budget(), text, Value::dict(std::move(named), &run.budget()));
}

Value tojson(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given =
      bind(arguments, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = flag(given[0], false);
  style.sort_keys = flag(given[3], false);
  if (given[1] && !given[1]->is_none()) {
    style.item_separator = ",";
    if (given[1]->is_string()) {
      style.indent = given[1]->bytes();
    } else {
      const int64_t width = to_index(*given[1], "the indent");
      run.budget().check_text(width > 0 ? static_cast<size_t>(width) : 0);
      style.indent = std::string(width > 0 ? static_cast<size_t>(width) : 0, ' ');
    }
  }
  if (given[2] && !given[2]->is_none()) {
    const std::vector<Value> separators = run.to_items(*given[2]);
    if (separators.size() != 2) fail_value("separators are two texts");
    style.item_separator = text_argument(separators[0], "the item separator");
    style.key_separator = text_argument(separators[1], "the key separator");
  }
  return run.text(to_json(run.budget(), input, style));
}

constexpr FilterEntry entries[] = {
    {"upper", &convert_text<&py_upper>},
    {"lower", &convert_text<&py_lower>},
    {"capitalize", &convert_text<&py_capitalize>},
    {"title", &convert_text<&title>},
    {"trim", &trim},
    {"replace", &replace},
    {"indent", &indent},
    {"center", &center},
    {"wordcount", &wordcount},
    {"truncate", &truncate},
    {"urlencode", &urlencode},
    {"string", &string},
    {"escape", &escape},
    {"e", &escape},
    {"forceescape", &force_escape},
    {"safe", &safe},
    {"striptags", &striptags},
    {"format", &format},
    {"tojson", &tojson},
};

}  // namespace

std::span<const FilterEntry> text_filters() {
  return entries;
}

}  // namespace dure::jinja
