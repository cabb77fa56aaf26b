// The parser's two halves share this state: the token stream, the names and what surrounds the
// token. Internal to jinja_parser.cc and jinja_parse_expression.cc.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_lexer.h"

namespace dure::jinja {

// Levels of an expression's tree.
constexpr int max_depth_of_expression = 300;

class Parser {
 public:
  explicit Parser(std::vector<Lexeme> tokens) : tokens_(std::move(tokens)) {}
  Tree run();

 private:
  // The token stream (jinja_parse_stream.cc).
  const Lexeme& current() const { return tokens_[at_]; }
  const Lexeme& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Lexeme take();
  bool at_name(std::string_view name) const;
  bool at_symbol(std::string_view symbol) const;
  bool skip_name(std::string_view name);
  bool skip_symbol(std::string_view symbol);
  void expect_symbol(std::string_view symbol);
  std::string expect_name();
  void expect(Token token, std::string_view what);
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void fail_at(int line, const std::string& message) const;
  static std::string describe(const Lexeme& lexeme);

  // Statements (jinja_parser.cc). A block ends before a tag named in `ends`, whose name is returned
  // with the stream behind it.
  std::string parse_block(Block& into, std::initializer_list<std::string_view> ends);
  std::string parse_body(Block& into, std::initializer_list<std::string_view> ends);
  Statement parse_statement();
  Statement parse_set(int line);
  Statement parse_for(int line);
  Statement parse_if(int line);
  Statement parse_with(int line);
  Statement parse_macro(int line);
  Statement parse_call_block(int line);
  Statement parse_filter_block(int line);
  Statement parse_scope(int line, std::string_view end);
  Statement parse_named_block(int line);
  Statement parse_print(int line);
  Statement parse_loop_control(int line, Statement::Kind kind);
  void parse_parameters(MacroBody& macro);
  void parse_macro_body(MacroBody& macro, std::string_view end);
  Target parse_target(bool with_namespace);
  Target target_of(const Expr& expr);
  Target name_target();

  // Expressions (jinja_parse_expression.cc, jinja_parse_postfix.cc).
  ExprPtr parse_tuple(bool conditional, bool simple = false, std::string_view end_name = {},
                      bool parentheses = false);
  ExprPtr parse_expression() { return parse_conditional(); }
  ExprPtr parse_conditional();
  ExprPtr parse_or();
  ExprPtr parse_and();
  ExprPtr parse_not();
  ExprPtr parse_compare();
  ExprPtr parse_sum();
  ExprPtr parse_concat();
  ExprPtr parse_product();
  ExprPtr parse_power();
  ExprPtr parse_unary(bool with_filters);
  ExprPtr parse_primary();
  ExprPtr parse_list();
  ExprPtr parse_dict();
  ExprPtr parse_postfix(ExprPtr node);
  ExprPtr parse_filters(ExprPtr node);
  ExprPtr parse_filter(ExprPtr node);
  ExprPtr parse_test(ExprPtr node);
  ExprPtr parse_subscript(ExprPtr node);
  ExprPtr parse_index();
  ExprPtr parse_call(ExprPtr node);
  std::unique_ptr<CallArgs> parse_args(int& depth);

  ExprPtr make(Expr::Kind kind, int line) const;
  ExprPtr constant(Value value, int line) const;
  ExprPtr name_node(const std::string& name, int line);
  // Adds an operand and keeps count of the depth.
  void add_part(Expr& node, ExprPtr part) const;
  ExprPtr pair(Expr::Kind kind, ExprPtr left, ExprPtr right, int line) const;

  // Counts nested constructs while parsing them.
  class Nested;

  std::vector<Lexeme> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  Names names_;
  // Jinja reports unknown filters and tests at load, except where an if decides whether they run: a
  // template may use one only when it is there. What is in the list when parsing ends is an error.
  bool decided_by_if_ = false;
  std::vector<JinjaError> unknown_;
  int loops_ = 0;  // for loops around this place within the same macro
  std::vector<MacroBody*> macros_;
  std::vector<std::string> block_names_;
};

class Parser::Nested {
 public:
  explicit Nested(Parser& parser);
  ~Nested() { --parser_.depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  Parser& parser_;
};

}  // namespace dure::jinja
