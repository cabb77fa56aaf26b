// The functions of the environment: range, dict, namespace, cycler, joiner, raise_exception,
// strftime_now.
#include <fmt/format.h>

#include "text/jinja_interpreter.h"
#include "text/jinja_methods.h"
#include "text/jinja_ops.h"
#include "text/python_strftime.h"

namespace dure::jinja {
namespace {

Value range(Interpreter& run, const Arguments& arguments) {
  constexpr int64_t bound = int64_t{1} << 53;
  constexpr int64_t largest = 100000;  // the sandbox's own limit
  if (!arguments.keyword.empty()) fail_type("range() takes no keyword arguments");
  if (arguments.positional.empty()) fail_type("range expected at least 1 argument, got 0");
  const auto given = bind(arguments, "range", {"start", "stop", "step"}, 1);
  const auto number = [&](size_t i, int64_t absent) {
    return given[i] ? to_index(*given[i], "an argument of range()") : absent;
  };
  const int64_t start = given[1] ? number(0, 0) : 0;
  const int64_t stop = given[1] ? number(1, 0) : number(0, 0);
  const int64_t step = number(2, 1);
  if (step == 0) fail_value("range() arg 3 must not be zero");
  for (const int64_t value : {start, stop, step}) {
    if (value > bound || value < -bound) fail_value("an argument of range() is too large");
  }
  const int64_t distance = step > 0 ? stop - start : start - stop;
  if (distance / (step > 0 ? step : -step) > largest) {
    throw JinjaError(Fault::limit, fmt::format("a range of more than {} numbers", largest));
  }
  return Value::range(start, stop, step, &run.budget());
}

// dict(mapping or pairs, name=value ...)
std::vector<std::pair<Value, Value>> entries_of(Interpreter& run, const Arguments& arguments) {
  if (arguments.positional.size() > 1) fail_type("dict expected at most 1 argument");
  std::vector<std::pair<Value, Value>> entries;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::dict)) {
      entries = source.as_dict().entries;
    } else {
      for (const Value& item : run.to_items(source)) {
        const std::vector<Value> pair = run.to_items(item);
        if (pair.size() != 2) fail_value("dict() needs pairs");
        entries.emplace_back(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.keyword) {
    entries.emplace_back(Value::text(name), value);
  }
  return entries;
}

Value dict(Interpreter& run, const Arguments& arguments) {
  return Value::dict(entries_of(run, arguments), &run.budget());
}

Value make_namespace(Interpreter& run, const Arguments& arguments) {
  Namespace* space = run.make<Namespace>();
  for (const auto& [key, value] : entries_of(run, arguments)) {
    if (!key.is_string()) fail_type("attribute name must be string");
    space->set(key.bytes(), value);
  }
  return Value::object(space);
}

class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string type() const override { return "Cycler"; }
  std::optional<Value> attribute(Interpreter& run, std::string_view name) override {
    if (name == "current") return items_[at_];
    if (name == "next") {
      return Value::object(run.make<Function>("next", [this](Interpreter&, const Arguments&) {
        const Value item = items_[at_];
        at_ = (at_ + 1) % items_.size();
        return item;
      }));
    }
    if (name == "reset") {
      return Value::object(run.make<Function>("reset", [this](Interpreter&, const Arguments&) {
        at_ = 0;
        return Value();
      }));
    }
    return std::nullopt;
  }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

Value cycler(Interpreter& run, const Arguments& arguments) {
  if (arguments.positional.empty()) fail_type("at least one item has to be provided");
  return Value::object(run.make<Cycler>(arguments.positional));
}

Value joiner(Interpreter& run, const Arguments& arguments) {
  const auto given = bind(arguments, "joiner", {"sep"});
  const Value separator = given[0].value_or(Value::text(", "));
  return Value::object(run.make<Function>(
      "joiner", [separator, used = false](Interpreter&, const Arguments&) mutable {
        return std::exchange(used, true) ? separator : Value::text("");
      }));
}

Value raise_exception(Interpreter& run, const Arguments& arguments) {
  const auto given = bind(arguments, "raise_exception", {"message"}, 1);
  throw JinjaError(Fault::raised, run.str(*given[0]));
}

Value strftime_now(Interpreter& run, const Arguments& arguments) {
  const auto given = bind(arguments, "strftime_now", {"format"}, 1);
  const std::string& format = text_argument(*given[0], "the format");
  constexpr size_t longest = 4096;
  if (format.size() > longest) fail_value("a date format of more than 4096 bytes");
  return run.text(py_strftime(format, run.now()));
}

Value lipsum(Interpreter&, const Arguments&) {
  throw JinjaError(Fault::unsupported, "the function lipsum (random text)");
}

}  // namespace

void define_globals(Interpreter& run) {
  const auto define = [&](const char* name, Value (*body)(Interpreter&, const Arguments&)) {
    run.define(name, Value::object(run.make<Function>(name, body)));
  };
  define("range", &range);
  define("dict", &dict);
  define("namespace", &make_namespace);
  define("cycler", &cycler);
  define("joiner", &joiner);
  define("lipsum", &lipsum);
  define("raise_exception", &raise_exception);
  define("strftime_now", &strftime_now);
}

}  // namespace dure::jinja
