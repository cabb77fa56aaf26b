// See harmony.h. A message is a header, <|message|>, and a body up to <|end|>, <|call|>, <|return|>
// or, where the model forgot it, the next header:
//   <|start|>assistant<|channel|>commentary to=functions.f
//   <|constrain|>json<|message|>{...}<|call|>
// The recipient may stand before the channel or behind it. A header that the answer breaks off in
// is dropped; text outside of messages is content.
#include "dialogue/harmony.h"

#include <algorithm>

namespace dure::dialogue {
namespace {

enum Token { start, channel, constrain, message, end, call, done };
constexpr Marker tokens[] = {{"<|start|>"}, {"<|channel|>"}, {"<|constrain|>"}, {"<|message|>"},
                             {"<|end|>"},   {"<|call|>"},    {"<|return|>"}};
constexpr size_t longest_header = 512;  // bytes

struct Header {
  std::string text;  // of all parts but the channel's name
  std::string channel;
  Token last = start;
};

// The word behind "to=".
std::string recipient_of(const std::string& header) {
  constexpr std::string_view mark = "to=";
  const size_t at = header.find(mark);
  if (at == std::string::npos) return "";
  const size_t from = at + mark.size();
  return header.substr(from, header.find_first_of(" \n\t<", from) - from);
}

std::string first_word(const std::string& text) {
  const size_t from = text.find_first_not_of(" \n\t");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_first_of(" \n\t", from) - from);
}

bool ends_message(int token) {
  return token == end || token == call || token == done;
}

// Reads on to <|message|>. False if no body follows: what such a header says is content.
Parsing<bool> read_header(Reading& r, Header& header) {
  MarkerScan scan(tokens);
  std::string text;
  while (header.last != message) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) co_return false;
    const int found = scan.feed(static_cast<char>(byte), text);
    // What has become too long is content, and goes on behind this: with the rest of a character,
    // but not of a marker.
    if (found < 0 && (text.size() <= longest_header || !scan.empty())) continue;
    if (header.last == channel) header.channel = first_word(text);
    header.text += text;
    text.clear();
    if (found < 0 || ends_message(found)) {
      r.out.content(header.text);
      co_return false;
    }
    header.text += " ";
    header.last = static_cast<Token>(found);
  }
  co_return true;
}

// The function that a message is for; empty if it is for the user or the model itself.
std::string function_of(const Header& header) {
  constexpr std::string_view prefix = "functions.";
  std::string recipient = recipient_of(header.text);
  if (recipient.starts_with(prefix)) {
    recipient.erase(0, prefix.size());
    return recipient;
  }
  // The model's own tools, which it has not got here, belong to its thoughts.
  if (header.channel == "analysis") return "";
  for (const char* nobody : {"assistant", "user", "all"}) {
    if (recipient == nobody) return "";
  }
  return recipient;
}

class Body {
 public:
  Body(Reading& r, const Header& header) : r_(r) {
    const std::string function = function_of(header);
    if (is_name(function)) {
      kind_ = AnswerDelta::Kind::arguments;
      r.out.begin_call(function);
    } else if (header.channel == "analysis") {
      kind_ = AnswerDelta::Kind::reasoning;
      r.out.open_reasoning();
    } else {
      r.out.separate_content();
    }
  }

  void text(std::string_view text) {
    switch (kind_) {
      case AnswerDelta::Kind::arguments:
        return r_.out.arguments(text);
      case AnswerDelta::Kind::reasoning:
        return r_.out.reasoning(text);
      default:
        return r_.out.content(text);
    }
  }

  void close() {
    if (kind_ == AnswerDelta::Kind::arguments) r_.out.end_call();
    if (kind_ == AnswerDelta::Kind::reasoning) {
      r_.out.close_reasoning();
      r_.out.interrupt();
    }
  }

 private:
  Reading& r_;
  AnswerDelta::Kind kind_ = AnswerDelta::Kind::content;
};

// The token behind the body.
Parsing<int> read_body(Reading& r, const Header& header) {
  Body body(r, header);
  MarkerScan scan(tokens);
  std::string text;
  for (;;) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) {
      body.text(scan.rest());
      co_return answer_over;
    }
    text.clear();
    const int found = scan.feed(static_cast<char>(byte), text);
    body.text(text);
    if (found < 0) continue;
    body.close();
    co_return found;
  }
}

constexpr std::string_view address = "to=";

std::string_view without_leading_space(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \n"), text.size()));
}

bool may_become_address(std::string_view text) {
  const std::string_view word = without_leading_space(text);
  return word.size() <= longest_header && (address.starts_with(word) || word.starts_with(address));
}

// What comes where a header may begin: its first token, with the recipient in front of it in
// `header`. Anything that cannot begin a header is content.
Parsing<int> read_outside(Reading& r, Header& header) {
  MarkerScan scan(tokens);
  std::string text;
  for (bool is_content = false;;) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) {
      const bool broken_off = without_leading_space(text).starts_with(address);
      if (!broken_off) r.out.content(text + scan.rest());
      co_return answer_over;
    }
    const int found = scan.feed(static_cast<char>(byte), text);
    if (is_content || !may_become_address(text)) {
      is_content = true;
      r.out.content(text);
      text.clear();
    }
    if (found < 0) continue;
    if (!text.empty()) header.text = text + " ";
    co_return found;
  }
}

}  // namespace

Parsing<bool> read_harmony(Reading& r) {
  int token = end;
  while (token != answer_over) {
    Header header;
    if (ends_message(token)) token = co_await read_outside(r, header);
    if (token == answer_over) break;
    if (ends_message(token)) continue;
    header.last = static_cast<Token>(token);
    const bool has_body = co_await read_header(r, header);
    token = has_body ? co_await read_body(r, header) : static_cast<int>(end);
  }
  co_return true;
}

}  // namespace dure::dialogue
