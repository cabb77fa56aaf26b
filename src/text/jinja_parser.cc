// Statements.
#include "text/jinja_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_parse.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {
// A value for as long as a scope lasts.
template <class T>
class Replaced {
 public:
  Replaced(T& place, T value) : place_(place), old_(place) { place_ = std::move(value); }
  ~Replaced() { place_ = std::move(old_); }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  T& place_;
  T old_;
};
}  // namespace

Tree Parser::run() {
  Tree tree;
  parse_block(tree.body, {});
  if (!unknown_.empty()) throw unknown_.front();
  tree.names = std::move(names_);
  return tree;
}

std::string Parser::parse_block(Block& into, std::initializer_list<std::string_view> ends) {
  const Nested nested(*this);
  while (current().token != Token::end) {
    const int line = current().line;
    if (current().token == Token::data) {
      into.push_back({.kind = Statement::Kind::data, .line = line, .text = take().text});
    } else if (current().token == Token::variable_begin) {
      take();
      Statement output{.kind = Statement::Kind::output, .line = line};
      output.exprs.push_back(parse_tuple(true));
      expect(Token::variable_end, "end of print statement");
      into.push_back(std::move(output));
    } else {
      expect(Token::block_begin, "begin of statement block");
      if (current().token != Token::name) fail("tag name expected");
      if (std::find(ends.begin(), ends.end(), current().text) != ends.end()) return take().text;
      into.push_back(parse_statement());
      expect(Token::block_end, "end of statement block");
    }
  }
  if (ends.size() > 0) {
    fail(fmt::format("Unexpected end of template. Jinja was looking for the tag '{}'.",
                     *(ends.end() - 1)));
  }
  return {};
}

// The rest of an opening tag, then its block.
std::string Parser::parse_body(Block& into, std::initializer_list<std::string_view> ends) {
  skip_symbol(":");
  expect(Token::block_end, "end of statement block");
  return parse_block(into, ends);
}

Statement Parser::parse_statement() {
  const Lexeme tag = take();
  const std::string& name = tag.text;
  if (name == "if") return parse_if(tag.line);
  if (name == "for") return parse_for(tag.line);
  if (name == "set") return parse_set(tag.line);
  if (name == "macro") return parse_macro(tag.line);
  if (name == "call") return parse_call_block(tag.line);
  if (name == "filter") return parse_filter_block(tag.line);
  if (name == "with") return parse_with(tag.line);
  if (name == "block") return parse_named_block(tag.line);
  if (name == "print") return parse_print(tag.line);
  if (name == "generation") return parse_scope(tag.line, "endgeneration");
  if (name == "break") return parse_loop_control(tag.line, Statement::Kind::stop);
  if (name == "continue") return parse_loop_control(tag.line, Statement::Kind::next);
  for (const std::string_view refused : {"extends", "include", "import", "from", "autoescape"}) {
    if (name == refused) {
      throw JinjaError(Fault::unsupported, fmt::format("the tag '{}'", name), tag.line);
    }
  }
  fail_at(tag.line, fmt::format("Encountered unknown tag '{}'.", name));
}

Statement Parser::parse_set(int line) {
  Statement set{.kind = Statement::Kind::set, .line = line};
  set.targets.push_back(parse_target(true));
  if (skip_symbol("=")) {
    set.exprs.push_back(parse_tuple(true));
    return set;
  }
  set.kind = Statement::Kind::set_block;
  ExprPtr filter;
  while (skip_symbol("|")) filter = parse_filter(std::move(filter));
  if (filter) set.exprs.push_back(std::move(filter));
  const Replaced strict(decided_by_if_, false);
  parse_body(set.body, {"endset"});
  return set;
}

Statement Parser::parse_for(int line) {
  Statement loop{.kind = Statement::Kind::loop, .line = line};
  const ExprPtr target = parse_tuple(false, true, "in");
  loop.targets.push_back(target_of(*target));
  if (!skip_name("in")) fail("expected token 'in', got '" + describe(current()) + "'");
  loop.exprs.push_back(parse_tuple(false, false, "recursive"));
  const Replaced strict(decided_by_if_, false);
  loop.exprs.push_back(skip_name("if") ? parse_expression() : nullptr);
  loop.recursive = skip_name("recursive");
  ++loops_;
  const std::string end = parse_body(loop.body, {"else", "endfor"});
  --loops_;
  if (end == "else") parse_body(loop.otherwise, {"endfor"});
  return loop;
}

Statement Parser::parse_if(int line) {
  Statement branch{.kind = Statement::Kind::branch, .line = line};
  const Replaced decided(decided_by_if_, true);
  std::string tag = "if";
  while (tag != "endif") {
    ExprPtr test = tag == "else" ? nullptr : parse_tuple(false);
    const bool last = test == nullptr;
    branch.branches.emplace_back(std::move(test), Block());
    Block& body = branch.branches.back().second;
    tag = last ? parse_body(body, {"endif"}) : parse_body(body, {"elif", "else", "endif"});
  }
  return branch;
}

Statement Parser::parse_with(int line) {
  Statement with{.kind = Statement::Kind::with, .line = line};
  while (current().token != Token::block_end) {
    if (!with.targets.empty()) expect_symbol(",");
    with.targets.push_back(parse_target(false));
    expect_symbol("=");
    with.exprs.push_back(parse_expression());
  }
  const Replaced strict(decided_by_if_, false);
  parse_body(with.body, {"endwith"});
  return with;
}

void Parser::parse_parameters(MacroBody& macro) {
  expect_symbol("(");
  while (!at_symbol(")")) {
    if (!macro.parameters.empty()) expect_symbol(",");
    Parameter parameter{name_target().name, nullptr};
    const bool needs_default = !macro.parameters.empty() && macro.parameters.back().fallback;
    if (skip_symbol("=")) {
      parameter.fallback = parse_expression();
    } else if (needs_default) {
      fail("non-default argument follows default argument");
    }
    macro.parameters.push_back(std::move(parameter));
  }
  expect_symbol(")");
}

void Parser::parse_macro_body(MacroBody& macro, std::string_view end) {
  const Replaced strict(decided_by_if_, false);
  const Replaced no_loop(loops_, 0);
  macros_.push_back(&macro);
  parse_body(macro.body, {end});
  macros_.pop_back();
}

Statement Parser::parse_macro(int line) {
  Statement node{.kind = Statement::Kind::macro, .line = line};
  node.macro = std::make_unique<MacroBody>();
  node.targets.push_back(name_target());
  node.macro->name = names_.text(node.targets[0].name);
  parse_parameters(*node.macro);
  parse_macro_body(*node.macro, "endmacro");
  return node;
}

Statement Parser::parse_call_block(int line) {
  Statement node{.kind = Statement::Kind::call_block, .line = line};
  node.macro = std::make_unique<MacroBody>();
  node.macro->name = "caller";
  if (at_symbol("(")) parse_parameters(*node.macro);
  node.exprs.push_back(parse_expression());
  if (node.exprs[0]->kind != Expr::Kind::call) fail_at(line, "expected call");
  parse_macro_body(*node.macro, "endcall");
  return node;
}

Statement Parser::parse_filter_block(int line) {
  Statement node{.kind = Statement::Kind::filter_block, .line = line};
  ExprPtr filter = parse_filter(nullptr);
  while (skip_symbol("|")) filter = parse_filter(std::move(filter));
  node.exprs.push_back(std::move(filter));
  const Replaced strict(decided_by_if_, false);
  parse_body(node.body, {"endfilter"});
  return node;
}

Statement Parser::parse_scope(int line, std::string_view end) {
  Statement node{.kind = Statement::Kind::scope, .line = line};
  const Replaced strict(decided_by_if_, false);
  const Replaced no_loop(loops_, 0);
  parse_body(node.body, {end});
  return node;
}

Statement Parser::parse_named_block(int line) {
  Statement node{.kind = Statement::Kind::block, .line = line, .text = expect_name()};
  if (std::find(block_names_.begin(), block_names_.end(), node.text) != block_names_.end()) {
    fail_at(line, fmt::format("block '{}' defined twice", node.text));
  }
  block_names_.push_back(node.text);
  node.recursive = skip_name("scoped");
  if (at_name("required")) {
    throw JinjaError(Fault::unsupported, "a required block", line);
  }
  const Replaced strict(decided_by_if_, false);
  const Replaced no_loop(loops_, 0);
  parse_body(node.body, {"endblock"});
  skip_name(node.text);
  return node;
}

Statement Parser::parse_print(int line) {
  Statement node{.kind = Statement::Kind::output, .line = line};
  while (current().token != Token::block_end) {
    if (!node.exprs.empty()) expect_symbol(",");
    node.exprs.push_back(parse_expression());
  }
  return node;
}

Statement Parser::parse_loop_control(int line, Statement::Kind kind) {
  if (loops_ == 0) {
    const std::string_view tag = kind == Statement::Kind::stop ? "break" : "continue";
    fail_at(line, fmt::format("'{}' outside loop", tag));
  }
  return {.kind = kind, .line = line};
}

Target Parser::name_target() {
  const int line = current().line;
  const std::string name = expect_name();
  for (const std::string_view reserved : {"true", "false", "none", "True", "False", "None"}) {
    if (name == reserved) fail_at(line, fmt::format("can't assign to '{}'", name));
  }
  Target target;
  target.name = names_.number(name);
  target.line = line;
  return target;
}

Target Parser::parse_target(bool with_namespace) {
  if (with_namespace && current().token == Token::name && ahead().token == Token::symbol &&
      ahead().text == ".") {
    Target target;
    target.line = current().line;
    target.name = names_.number(take().text);
    take();
    target.attribute = expect_name();
    return target;
  }
  return target_of(*parse_tuple(false, true));
}

Target Parser::target_of(const Expr& expr) {
  Target target;
  target.line = expr.line;
  if (expr.kind == Expr::Kind::name) {
    target.name = expr.name;
    return target;
  }
  const bool several = expr.kind == Expr::Kind::tuple || expr.kind == Expr::Kind::list;
  if (!several || expr.parts.empty()) fail_at(expr.line, "can't assign to this expression");
  for (const ExprPtr& part : expr.parts) target.elements.push_back(target_of(*part));
  return target;
}

Tree parse(std::string_view source) {
  return Parser(tokenize(source)).run();
}

}  // namespace dure::jinja
