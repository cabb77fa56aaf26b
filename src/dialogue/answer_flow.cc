// See answer_flow.h.
#include "dialogue/answer_flow.h"

namespace dure::dialogue {
namespace {

// Takes content up to the opening of a block, whose number in `openers` is returned.
Parsing<int> read_content(Reading& r, std::span<const Marker> openers) {
  MarkerScan scan(openers);
  std::string text;
  for (;;) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) {
      r.out.content(scan.rest());
      co_return answer_over;
    }
    text.clear();
    const int found = scan.feed(static_cast<char>(byte), text);
    r.out.content(text);
    if (found >= 0) co_return found;
  }
}

// From behind the opening on. The number of the call's opener that ended it, where the model forgot
// to close; none_of_them where it was closed.
Parsing<int> read_reasoning(Reading& r, const AnswerSyntax& syntax) {
  std::vector<Marker> markers = {{syntax.reasoning.close}, {syntax.reasoning.open}};
  std::vector<int> openers;
  for (size_t i = 0; i < syntax.calls.openers.size(); ++i) {
    if (!syntax.calls.openers[i].ends_reasoning) continue;
    markers.push_back({syntax.calls.openers[i].marker.text});
    openers.push_back(static_cast<int>(i));
  }
  r.out.open_reasoning();
  MarkerScan scan(markers);
  std::string text;
  for (;;) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) {
      r.out.reasoning(scan.rest());
      co_return answer_over;
    }
    text.clear();
    const int found = scan.feed(static_cast<char>(byte), text);
    r.out.reasoning(text);
    if (found == 1) {
      // Models open what the prompt has opened already; later it is a word of the text.
      if (!r.out.reasoning_is_blank()) r.out.reasoning(syntax.reasoning.open);
    } else if (found >= 0) {
      r.out.close_reasoning();
      r.out.interrupt();
      co_return found == 0 ? none_of_them : openers[static_cast<size_t>(found) - 2];
    }
  }
}

Parsing<bool> read_calls(Reading& r, const AnswerSyntax& syntax, int opener) {
  const std::string_view mark = syntax.calls.openers[static_cast<size_t>(opener)].marker.text;
  r.in.record(mark);
  const bool whole = co_await syntax.calls.read(r, mark);
  const std::string left = r.in.recorded();
  if (!whole) r.out.content(left);
  co_return whole;
}

}  // namespace

Parsing<bool> read_answer(Reading& r, const AnswerSyntax& syntax) {
  std::vector<Marker> openers;
  for (const CallSyntax::Opener& opener : syntax.calls.openers) openers.push_back(opener.marker);
  const int reasoning = static_cast<int>(openers.size());
  if (!syntax.reasoning.open.empty()) {
    openers.push_back({.text = syntax.reasoning.open, .opens_line = true});
  }
  int next = syntax.starts_in_reasoning ? reasoning : none_of_them;
  while (next != answer_over) {
    if (next == none_of_them) {
      next = co_await read_content(r, openers);
    } else if (next == reasoning) {
      next = co_await read_reasoning(r, syntax);
    } else {
      co_await read_calls(r, syntax, next);
      next = none_of_them;
    }
  }
  co_return true;
}

}  // namespace dure::dialogue
