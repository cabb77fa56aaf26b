// The tests behind `is`.
#include <fmt/format.h>

#include <unordered_map>

#include "text/jinja_ast.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_ops.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

bool is_defined(Interpreter&, const Value& input, const Arguments& arguments) {
  bind(arguments, "defined", {});
  return !input.is_undefined();
}
bool is_undefined(Interpreter&, const Value& input, const Arguments& arguments) {
  bind(arguments, "undefined", {});
  return input.is_undefined();
}
bool is_none(Interpreter&, const Value& input, const Arguments&) {
  return input.is_none();
}
bool is_string(Interpreter&, const Value& input, const Arguments&) {
  return input.is_string();
}
bool is_mapping(Interpreter&, const Value& input, const Arguments&) {
  return input.is(Kind::dict);
}
bool is_number(Interpreter&, const Value& input, const Arguments&) {
  return input.is_number();
}
bool is_boolean(Interpreter&, const Value& input, const Arguments&) {
  return input.is(Kind::boolean);
}
bool is_integer(Interpreter&, const Value& input, const Arguments&) {
  return input.is(Kind::integer) || input.is(Kind::big);
}
bool is_float(Interpreter&, const Value& input, const Arguments&) {
  return input.is(Kind::real);
}
bool is_true(Interpreter&, const Value& input, const Arguments&) {
  return input.is(Kind::boolean) && input.as_boolean();
}
bool is_false(Interpreter&, const Value& input, const Arguments&) {
  return input.is(Kind::boolean) && !input.as_boolean();
}
bool is_callable(Interpreter&, const Value& input, const Arguments&) {
  // An undefined value can be called in Python's eyes: the call is what fails.
  return input.is_undefined() || (input.is(Kind::object) && input.as_object().callable());
}
bool is_iterable(Interpreter&, const Value& input, const Arguments&) {
  return input.is_undefined() || input.is(Kind::text) || input.is(Kind::sequence) ||
         input.is(Kind::dict) || (input.is(Kind::object) && input.as_object().iterable());
}
bool is_sequence(Interpreter&, const Value& input, const Arguments&) {
  // What has a length and can be indexed; views of a dictionary cannot.
  const bool view = input.is_sequence(SequenceKind::keys) ||
                    input.is_sequence(SequenceKind::values) ||
                    input.is_sequence(SequenceKind::items);
  return input.is_undefined() || input.is(Kind::text) || input.is(Kind::dict) ||
         (input.is(Kind::sequence) && !view);
}
bool is_escaped(Interpreter&, const Value& input, const Arguments&) {
  return input.is(Kind::text) && input.as_text().kind == TextKind::markup;
}
bool is_upper(Interpreter& run, const Value& input, const Arguments&) {
  return py_all_upper(run.str(input));
}
bool is_lower(Interpreter& run, const Value& input, const Arguments&) {
  return py_all_lower(run.str(input));
}

bool modulo_is(Interpreter& run, const Value& input, int64_t divisor, int64_t rest) {
  const Value left = operate(run.budget(), Operation::modulo, input, Value::integer(divisor));
  return run.equal(left, Value::integer(rest));
}
bool is_odd(Interpreter& run, const Value& input, const Arguments&) {
  return modulo_is(run, input, 2, 1);
}
bool is_even(Interpreter& run, const Value& input, const Arguments&) {
  return modulo_is(run, input, 2, 0);
}
bool is_divisibleby(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "divisibleby", {"num"}, 1);
  const Value rest = operate(run.budget(), Operation::modulo, input, *given[0]);
  return run.equal(rest, Value::integer(0));
}

bool is_in(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "in", {"seq"}, 1);
  return contains(run.budget(), *given[0], input);
}
bool is_sameas(Interpreter&, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "sameas", {"other"}, 1);
  return input.same_as(*given[0]);
}
bool is_filter(Interpreter& run, const Value& input, const Arguments&) {
  return find_filter(run.str(input)) != nullptr || is_refused_filter(run.str(input));
}
bool is_test(Interpreter& run, const Value& input, const Arguments&) {
  return find_test(run.str(input)) != nullptr;
}

bool is_equal(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "eq", {"other"}, 1);
  return run.equal(input, *given[0]);
}
bool is_unequal(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "ne", {"other"}, 1);
  return !run.equal(input, *given[0]);
}
template <Order order>
bool is_ordered(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "a comparison", {"other"}, 1);
  return ordered(run.budget(), input, *given[0], order);
}

}  // namespace

Test find_test(std::string_view name) {
  static const std::unordered_map<std::string_view, Test> tests = {
      {"defined", &is_defined},
      {"undefined", &is_undefined},
      {"none", &is_none},
      {"string", &is_string},
      {"mapping", &is_mapping},
      {"number", &is_number},
      {"boolean", &is_boolean},
      {"integer", &is_integer},
      {"float", &is_float},
      {"true", &is_true},
      {"false", &is_false},
      {"callable", &is_callable},
      {"iterable", &is_iterable},
      {"sequence", &is_sequence},
      {"escaped", &is_escaped},
      {"upper", &is_upper},
      {"lower", &is_lower},
      {"odd", &is_odd},
      {"even", &is_even},
      {"divisibleby", &is_divisibleby},
      {"in", &is_in},
      {"sameas", &is_sameas},
      {"filter", &is_filter},
      {"test", &is_test},
      {"==", &is_equal},
      {"eq", &is_equal},
      {"equalto", &is_equal},
      {"!=", &is_unequal},
      {"ne", &is_unequal},
      {"<", &is_ordered<Order::less>},
      {"lt", &is_ordered<Order::less>},
      {"lessthan", &is_ordered<Order::less>},
      {"<=", &is_ordered<Order::less_equal>},
      {"le", &is_ordered<Order::less_equal>},
      {">", &is_ordered<Order::greater>},
      {"gt", &is_ordered<Order::greater>},
      {"greaterthan", &is_ordered<Order::greater>},
      {">=", &is_ordered<Order::greater_equal>},
      {"ge", &is_ordered<Order::greater_equal>},
  };
  const auto found = tests.find(name);
  return found == tests.end() ? nullptr : found->second;
}

}  // namespace dure::jinja
