// Operators and literals, from the loosest operator to the tightest: if-else, or, and, not,
// comparison, + -,
// ~,
// * / // %, **, sign, attribute and call, filter and test.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/jinja_parse.h"
#include "text/python_unicode.h"

namespace dure::jinja {
ExprPtr Parser::make(Expr::Kind kind, int line) const {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  return node;
}

ExprPtr Parser::constant(Value value, int line) const {
  ExprPtr node = make(Expr::Kind::constant, line);
  node->value = std::move(value);
  return node;
}

void Parser::add_part(Expr& node, ExprPtr part) const {
  if (part) {
    node.depth = std::max(node.depth, part->depth + 1);
    if (node.depth > max_depth_of_expression) fail_at(node.line, "an expression nested too deeply");
  }
  node.parts.push_back(std::move(part));
}

ExprPtr Parser::pair(Expr::Kind kind, ExprPtr left, ExprPtr right, int line) const {
  ExprPtr node = make(kind, line);
  add_part(*node, std::move(left));
  add_part(*node, std::move(right));
  return node;
}

ExprPtr Parser::name_node(const std::string& name, int line) {
  for (MacroBody* macro : macros_) {
    macro->uses_caller |= name == "caller";
    macro->uses_varargs |= name == "varargs";
    macro->uses_kwargs |= name == "kwargs";
  }
  ExprPtr node = make(Expr::Kind::name, line);
  node->name = names_.number(name);
  return node;
}

ExprPtr Parser::parse_tuple(bool conditional, bool simple, std::string_view end_name,
                            bool parentheses) {
  const int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) expect_symbol(",");
    const bool ends = current().token == Token::variable_end ||
                      current().token == Token::block_end || at_symbol(")") ||
                      (!end_name.empty() && at_name(end_name));
    if (ends) break;
    items.push_back(simple ? parse_primary() : conditional ? parse_conditional() : parse_or());
    if (!at_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!items.empty()) return std::move(items[0]);
    if (!parentheses) fail("Expected an expression, got '" + describe(current()) + "'");
  }
  ExprPtr node = make(Expr::Kind::tuple, line);
  for (ExprPtr& item : items) add_part(*node, std::move(item));
  return node;
}

ExprPtr Parser::parse_conditional() {
  const Nested nested(*this);
  const int line = current().line;
  const size_t unknown = unknown_.size();
  ExprPtr node = parse_or();
  while (skip_name("if")) {
    ExprPtr whole = make(Expr::Kind::conditional, line);
    add_part(*whole, std::move(node));
    add_part(*whole, parse_or());
    add_part(*whole, skip_name("else") ? parse_conditional() : nullptr);
    node = std::move(whole);
    unknown_.erase(unknown_.begin() + static_cast<long>(unknown), unknown_.end());
  }
  return node;
}

ExprPtr Parser::parse_or() {
  const Nested nested(*this);
  ExprPtr left = parse_and();
  while (at_name("or")) {
    const int line = take().line;
    left = pair(Expr::Kind::alternative, std::move(left), parse_and(), line);
  }
  return left;
}

ExprPtr Parser::parse_and() {
  ExprPtr left = parse_not();
  while (at_name("and")) {
    const int line = take().line;
    left = pair(Expr::Kind::conjunction, std::move(left), parse_not(), line);
  }
  return left;
}

ExprPtr Parser::parse_not() {
  if (!at_name("not")) return parse_compare();
  const Nested nested(*this);
  ExprPtr node = make(Expr::Kind::negation, take().line);
  add_part(*node, parse_not());
  return node;
}

ExprPtr Parser::parse_compare() {
  constexpr std::array<std::pair<std::string_view, Comparison>, 6> operators = {{
      {"==", Comparison::equal},
      {"!=", Comparison::not_equal},
      {"<", Comparison::less},
      {"<=", Comparison::less_equal},
      {">", Comparison::greater},
      {">=", Comparison::greater_equal},
  }};
  const int line = current().line;
  ExprPtr first = parse_sum();
  ExprPtr node;
  while (true) {
    Comparison comparison;
    const auto found = std::find_if(operators.begin(), operators.end(),
                                    [&](const auto& entry) { return at_symbol(entry.first); });
    if (found != operators.end()) {
      comparison = found->second;
    } else if (at_name("in")) {
      comparison = Comparison::in;
    } else if (at_name("not") && ahead().token == Token::name && ahead().text == "in") {
      take();
      comparison = Comparison::not_in;
    } else {
      break;
    }
    take();
    if (!node) {
      node = make(Expr::Kind::comparison, line);
      add_part(*node, std::move(first));
    }
    node->comparisons.push_back(comparison);
    add_part(*node, parse_sum());
  }
  return node ? std::move(node) : std::move(first);
}

ExprPtr Parser::parse_sum() {
  ExprPtr left = parse_concat();
  while (at_symbol("+") || at_symbol("-")) {
    const Lexeme sign = take();
    left = pair(Expr::Kind::binary, std::move(left), parse_concat(), sign.line);
    left->operation = sign.text == "+" ? Operation::add : Operation::subtract;
  }
  return left;
}

ExprPtr Parser::parse_concat() {
  const int line = current().line;
  ExprPtr first = parse_product();
  if (!at_symbol("~")) return first;
  ExprPtr node = make(Expr::Kind::concat, line);
  add_part(*node, std::move(first));
  while (skip_symbol("~")) add_part(*node, parse_product());
  return node;
}

ExprPtr Parser::parse_product() {
  ExprPtr left = parse_power();
  while (at_symbol("*") || at_symbol("/") || at_symbol("//") || at_symbol("%")) {
    const Lexeme sign = take();
    left = pair(Expr::Kind::binary, std::move(left), parse_power(), sign.line);
    left->operation = sign.text == "*"    ? Operation::multiply
                      : sign.text == "/"  ? Operation::divide
                      : sign.text == "//" ? Operation::floor_divide
                                          : Operation::modulo;
  }
  return left;
}

ExprPtr Parser::parse_power() {
  ExprPtr left = parse_unary(true);
  while (at_symbol("**")) {
    const int line = take().line;
    left = pair(Expr::Kind::binary, std::move(left), parse_unary(true), line);
    left->operation = Operation::power;
  }
  return left;
}

ExprPtr Parser::parse_unary(bool with_filters) {
  const Nested nested(*this);
  ExprPtr node;
  if (at_symbol("-") || at_symbol("+")) {
    const Lexeme sign = take();
    node = make(sign.text == "-" ? Expr::Kind::negative : Expr::Kind::positive, sign.line);
    add_part(*node, parse_unary(false));
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filters ? parse_filters(std::move(node)) : std::move(node);
}

ExprPtr Parser::parse_primary() {
  const Nested nested(*this);
  const int line = current().line;
  if (current().token == Token::name) {
    const std::string name = take().text;
    if (name == "true" || name == "True") return constant(Value::boolean(true), line);
    if (name == "false" || name == "False") return constant(Value::boolean(false), line);
    if (name == "none" || name == "None") return constant(Value(), line);
    return name_node(name, line);
  }
  if (current().token == Token::text) {
    std::string joined;
    while (current().token == Token::text) joined += take().value.bytes();
    return constant(Value::text(std::move(joined)), line);
  }
  if (current().token == Token::number) return constant(take().value, line);
  if (skip_symbol("(")) {
    ExprPtr node = parse_tuple(true, false, {}, true);
    expect_symbol(")");
    return node;
  }
  if (at_symbol("[")) return parse_list();
  if (at_symbol("{")) return parse_dict();
  fail("unexpected '" + describe(current()) + "'");
}

ExprPtr Parser::parse_list() {
  ExprPtr node = make(Expr::Kind::list, take().line);
  while (!at_symbol("]")) {
    if (!node->parts.empty()) expect_symbol(",");
    if (at_symbol("]")) break;
    add_part(*node, parse_expression());
  }
  expect_symbol("]");
  return node;
}

ExprPtr Parser::parse_dict() {
  ExprPtr node = make(Expr::Kind::dict, take().line);
  while (!at_symbol("}")) {
    if (!node->parts.empty()) expect_symbol(",");
    if (at_symbol("}")) break;
    add_part(*node, parse_expression());
    expect_symbol(":");
    add_part(*node, parse_expression());
  }
  expect_symbol("}");
  return node;
}

}  // namespace dure::jinja
