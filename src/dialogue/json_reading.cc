// See json_reading.h.
#include "dialogue/json_reading.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace dure::dialogue {
namespace {

constexpr char32_t replacement = 0xFFFD;

bool is_high(int code) {
  return code >= 0xD800 && code < 0xDC00;
}
bool is_low(int code) {
  return code >= 0xDC00 && code < 0xE000;
}

// The number of four hexadecimal digits; -1 if there are none, then the digits so far are taken.
Parsing<int> hex_digits(Reading& r) {
  int code = 0;
  for (int i = 0; i < 4; ++i) {
    const int byte = co_await r.in.peek();
    int digit = -1;
    if (byte >= '0' && byte <= '9') digit = byte - '0';
    if (byte >= 'a' && byte <= 'f') digit = byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') digit = byte - 'A' + 10;
    if (digit < 0) co_return -1;
    co_await r.in.take();
    code = code * 16 + digit;
  }
  co_return code;
}

// Behind \u: one code, or two that form a surrogate pair.
Parsing<bool> unicode_escape(Reading& r, std::string& text) {
  int code = co_await hex_digits(r);
  while (is_high(code)) {
    if (co_await r.in.peek() != '\\') break;
    co_await r.in.take();
    const int next = co_await r.in.peek();
    if (next != 'u') {  // another escape: the caller must see its backslash as taken
      utf8::append(text, replacement);
      co_return false;
    }
    co_await r.in.take();
    const int low = co_await hex_digits(r);
    if (is_low(low)) {
      const int pair = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      utf8::append(text, static_cast<char32_t>(pair));
      co_return true;
    }
    utf8::append(text, replacement);
    code = low;
  }
  const bool lone = code < 0 || is_high(code) || is_low(code);
  utf8::append(text, lone ? replacement : static_cast<char32_t>(code));
  co_return true;
}

// Behind a backslash.
Parsing<bool> escape(Reading& r, std::string& text) {
  for (;;) {
    const int byte = co_await r.in.take();
    switch (byte) {
      case Source::end:
        co_return false;
      case 'n':
        text += '\n';
        co_return true;
      case 't':
        text += '\t';
        co_return true;
      case 'r':
        text += '\r';
        co_return true;
      case 'b':
        text += '\b';
        co_return true;
      case 'f':
        text += '\f';
        co_return true;
      case 'u':
        if (co_await unicode_escape(r, text)) co_return true;
        continue;
      default:
        text += static_cast<char>(byte);
        co_return true;
    }
  }
}

// Appends to `text`, and hands it to the arguments after every byte where asked to.
Parsing<bool> string_text(Reading& r, std::string& text, bool to_arguments) {
  for (;;) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) co_return false;
    if (byte == '"') co_return true;
    if (byte == '\\') {
      co_await escape(r, text);
    } else {
      text += static_cast<char>(byte);
    }
    if (to_arguments) {
      r.out.arguments(text);
      text.clear();
    }
  }
}

void put(Reading& r, std::string* into, int byte) {
  const char letter = static_cast<char>(byte);
  if (into) {
    *into += letter;
  } else {
    r.out.arguments({&letter, 1});
  }
}

// A quoted string as it is, from its opening quote on.
Parsing<bool> copy_string(Reading& r, std::string* into) {
  put(r, into, co_await r.in.take());
  for (bool escaped = false;;) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) co_return false;
    put(r, into, byte);
    if (byte == '"' && !escaped) co_return true;
    escaped = byte == '\\' && !escaped;
  }
}

bool is_scalar(int byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '+' || byte == '-' || byte == '.';
}

}  // namespace

Parsing<bool> read_string(Reading& r, std::string& text) {
  co_return co_await string_text(r, text, false);
}

Parsing<bool> arguments_from_string(Reading& r) {
  std::string text;
  co_return co_await string_text(r, text, true);
}

Parsing<bool> copy_value(Reading& r, std::string* into) {
  std::string open;  // the brackets that have to be closed
  for (;;) {
    const int byte = co_await r.in.peek();
    if (byte == '"') {
      if (!co_await copy_string(r, into)) co_return false;
    } else if (byte == '{' || byte == '[') {
      open += byte == '{' ? '}' : ']';
      put(r, into, co_await r.in.take());
    } else if (!open.empty() && byte == open.back()) {
      open.pop_back();
      put(r, into, co_await r.in.take());
    } else if (is_scalar(byte)) {
      while (is_scalar(co_await r.in.peek())) put(r, into, co_await r.in.take());
    } else if (!open.empty() && (is_space(byte) || byte == ',' || byte == ':')) {
      put(r, into, co_await r.in.take());
    } else {
      co_return false;
    }
    if (open.empty()) co_return true;
  }
}

void append_escaped(std::string& json, char byte) {
  switch (byte) {
    case '"':
      json += "\\\"";
      return;
    case '\\':
      json += "\\\\";
      return;
    case '\n':
      json += "\\n";
      return;
    case '\t':
      json += "\\t";
      return;
    case '\r':
      json += "\\r";
      return;
    default:
      if (static_cast<unsigned char>(byte) < 0x20) {
        json += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
      } else {
        json += byte;
      }
  }
}

std::string json_quoted(std::string_view text) {
  std::string json = "\"";
  for (const char byte : text) append_escaped(json, byte);
  return json + '"';
}

}  // namespace dure::dialogue
