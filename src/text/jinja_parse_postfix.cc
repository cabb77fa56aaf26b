// What stands behind a value: attributes, subscripts, calls, filters and tests.
#include <algorithm>

#include "text/jinja_parse.h"

namespace dure::jinja {

ExprPtr Parser::parse_postfix(ExprPtr node) {
  while (true) {
    if (at_symbol(".") || at_symbol("[")) {
      node = parse_subscript(std::move(node));
    } else if (at_symbol("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr Parser::parse_filters(ExprPtr node) {
  while (true) {
    if (at_symbol("|")) {
      take();
      node = parse_filter(std::move(node));
    } else if (at_name("is")) {
      node = parse_test(std::move(node));
    } else if (at_symbol("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr Parser::parse_subscript(ExprPtr node) {
  const Lexeme opening = take();
  if (opening.text == ".") {
    if (current().token == Token::name) {
      ExprPtr attribute = make(Expr::Kind::attribute, opening.line);
      attribute->text = take().text;
      add_part(*attribute, std::move(node));
      return attribute;
    }
    if (current().token != Token::number || !current().value.is_integral()) {
      fail("expected name or number");
    }
    const Lexeme number = take();
    return pair(Expr::Kind::item, std::move(node), constant(number.value, number.line),
                opening.line);
  }
  std::vector<ExprPtr> indices;
  while (!at_symbol("]")) {
    if (!indices.empty()) expect_symbol(",");
    indices.push_back(parse_index());
  }
  expect_symbol("]");
  ExprPtr index;
  if (indices.size() == 1) {
    index = std::move(indices[0]);
  } else {
    index = make(Expr::Kind::tuple, opening.line);
    for (ExprPtr& part : indices) add_part(*index, std::move(part));
  }
  return pair(Expr::Kind::item, std::move(node), std::move(index), opening.line);
}

ExprPtr Parser::parse_index() {
  const int line = current().line;
  ExprPtr start;
  if (!at_symbol(":")) {
    start = parse_expression();
    if (!at_symbol(":")) return start;
  }
  take();
  ExprPtr node = make(Expr::Kind::slice, line);
  add_part(*node, std::move(start));
  const auto part = [&] {
    const bool absent = at_symbol(":") || at_symbol("]") || at_symbol(",");
    add_part(*node, absent ? nullptr : parse_expression());
  };
  part();
  if (skip_symbol(":")) {
    part();
  } else {
    add_part(*node, nullptr);
  }
  return node;
}

std::unique_ptr<CallArgs> Parser::parse_args(int& depth) {
  auto args = std::make_unique<CallArgs>();
  const int line = current().line;
  expect_symbol("(");
  const auto ensure = [&](bool valid) {
    if (!valid) fail_at(line, "invalid syntax for function call expression");
  };
  const auto argument = [&] {
    ExprPtr value = parse_expression();
    depth = std::max(depth, value->depth + 1);
    if (depth > max_depth_of_expression) fail_at(line, "an expression nested too deeply");
    return value;
  };
  bool comma = false;
  while (!at_symbol(")")) {
    if (comma) {
      expect_symbol(",");
      if (at_symbol(")")) break;
    }
    comma = true;
    if (skip_symbol("*")) {
      ensure(!args->spread && !args->keyword_spread);
      args->spread = argument();
    } else if (skip_symbol("**")) {
      ensure(!args->keyword_spread);
      args->keyword_spread = argument();
    } else if (current().token == Token::name && ahead().token == Token::symbol &&
               ahead().text == "=") {
      ensure(!args->keyword_spread);
      std::string key = take().text;
      take();
      args->keyword.emplace_back(std::move(key), argument());
    } else {
      ensure(!args->spread && !args->keyword_spread && args->keyword.empty());
      args->positional.push_back(argument());
    }
  }
  expect_symbol(")");
  return args;
}

ExprPtr Parser::parse_call(ExprPtr node) {
  ExprPtr call = make(Expr::Kind::call, current().line);
  call->args = parse_args(call->depth);
  add_part(*call, std::move(node));
  return call;
}

// Behind the "|": one filter.
ExprPtr Parser::parse_filter(ExprPtr node) {
  ExprPtr filter = make(Expr::Kind::filter, current().line);
  filter->text = expect_name();
  while (skip_symbol(".")) filter->text += "." + expect_name();
  filter->args = at_symbol("(") ? parse_args(filter->depth) : std::make_unique<CallArgs>();
  filter->filter = find_filter(filter->text);
  if (is_refused_filter(filter->text)) {
    throw JinjaError(Fault::unsupported, "the filter '" + filter->text + "'", filter->line);
  }
  if (!filter->filter && !decided_by_if_) {
    unknown_.emplace_back(Fault::syntax, "No filter named '" + filter->text + "'.", filter->line);
  }
  add_part(*filter, std::move(node));
  return filter;
}

ExprPtr Parser::parse_test(ExprPtr node) {
  ExprPtr test = make(Expr::Kind::test, take().line);
  const bool negated = skip_name("not");
  test->text = expect_name();
  while (skip_symbol(".")) test->text += "." + expect_name();
  test->test = find_test(test->text);
  if (!test->test && !decided_by_if_) {
    unknown_.emplace_back(Fault::syntax, "No test named '" + test->text + "'.", test->line);
  }
  const bool operand = current().token == Token::name || current().token == Token::text ||
                       current().token == Token::number || at_symbol("[") || at_symbol("{");
  if (at_symbol("(")) {
    test->args = parse_args(test->depth);
  } else {
    test->args = std::make_unique<CallArgs>();
    if (operand && !at_name("else") && !at_name("or") && !at_name("and")) {
      if (at_name("is")) fail("You cannot chain multiple tests with is");
      ExprPtr argument = parse_postfix(parse_primary());
      test->depth = std::max(test->depth, argument->depth + 1);
      test->args->positional.push_back(std::move(argument));
    }
  }
  add_part(*test, std::move(node));
  if (!negated) return test;
  ExprPtr node_not = make(Expr::Kind::negation, test->line);
  add_part(*node_not, std::move(test));
  return node_not;
}

}  // namespace dure::jinja
