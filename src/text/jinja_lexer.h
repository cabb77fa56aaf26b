// Template source to tokens, with Jinja's white-space rules as chat templates are read: trim_blocks
// and lstrip_blocks on, one newline at the very end dropped, \r\n and \r taken as \n.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_value.h"

namespace dure::jinja {

enum class Token {
  data,            // text between tags
  variable_begin,  // {{
  variable_end,
  block_begin,  // {%
  block_end,
  name,
  text,    // a string literal, value decoded
  number,  // an integer or float literal
  symbol,  // an operator or bracket
  end,
};

struct Lexeme {
  Token token;
  std::string text;  // data, name or symbol
  Value value;       // of a literal
  int line;          // 1-based
};

// Throws a syntax fault with the line for anything that is not a template. The last lexeme is
// `end`.
std::vector<Lexeme> tokenize(std::string_view source);

}  // namespace dure::jinja
