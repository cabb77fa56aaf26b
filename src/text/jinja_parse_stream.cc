// The token stream under the parser, and the numbering of names.
#include <fmt/format.h>

#include "text/jinja_parse.h"

namespace dure::jinja {
namespace {
constexpr int max_parse_depth = 600;  // nested calls of the parser that count
}  // namespace

Parser::Nested::Nested(Parser& parser) : parser_(parser) {
  if (parser_.depth_ >= max_parse_depth) parser_.fail("constructs nested too deeply");
  ++parser_.depth_;
}

Lexeme Parser::take() {
  Lexeme taken = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return taken;
}

bool Parser::at_name(std::string_view name) const {
  return current().token == Token::name && current().text == name;
}
bool Parser::at_symbol(std::string_view symbol) const {
  return current().token == Token::symbol && current().text == symbol;
}

bool Parser::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  take();
  return true;
}

bool Parser::skip_symbol(std::string_view symbol) {
  if (!at_symbol(symbol)) return false;
  take();
  return true;
}

void Parser::expect_symbol(std::string_view symbol) {
  if (!skip_symbol(symbol)) {
    fail(fmt::format("expected token '{}', got '{}'", symbol, describe(current())));
  }
}

std::string Parser::expect_name() {
  if (current().token != Token::name) {
    fail(fmt::format("expected token 'name', got '{}'", describe(current())));
  }
  return take().text;
}

void Parser::expect(Token token, std::string_view what) {
  if (current().token != token) {
    fail(fmt::format("expected token '{}', got '{}'", what, describe(current())));
  }
  take();
}

void Parser::fail(const std::string& message) const {
  fail_at(current().line, message);
}
void Parser::fail_at(int line, const std::string& message) const {
  throw JinjaError(Fault::syntax, message, line);
}

std::string Parser::describe(const Lexeme& lexeme) {
  switch (lexeme.token) {
    case Token::data:
      return "template data / text";
    case Token::variable_begin:
      return "begin of print statement";
    case Token::variable_end:
      return "end of print statement";
    case Token::block_begin:
      return "begin of statement block";
    case Token::block_end:
      return "end of statement block";
    case Token::text:
      return "string";
    case Token::end:
      return "end of template";
    default:
      return lexeme.text;
  }
}

uint32_t Names::number(std::string_view name) {
  const auto [found, fresh] =
      numbers_.emplace(std::string(name), static_cast<uint32_t>(texts_.size()));
  if (fresh) texts_.emplace_back(name);
  return found->second;
}

uint32_t Names::find(std::string_view name) const {
  const auto found = numbers_.find(std::string(name));
  return found == numbers_.end() ? none : found->second;
}

}  // namespace dure::jinja
