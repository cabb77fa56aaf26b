// What the parsers of one answer share, and the small steps that every format is made of.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialogue/answer_sink.h"
#include "dialogue/markers.h"
#include "dialogue/parsing.h"
#include "dialogue/tools.h"

namespace dure::dialogue {

struct Reading {
  Source in;
  AnswerSink out;
  std::vector<Tool> tools;  // of the request, for the types of parameters
  bool cut = false;         // the answer was ended by its length, not by the model

  // A call is announced when its name is known and its arguments begin; until then its text may
  // turn out to be no call, and is kept.
  void announce(std::string_view name, std::string_view id = "") {
    in.forget();
    out.begin_call(name, id);
  }
  // Ends the call; what is taken from here on is kept, for it should be the format's own.
  void end_call() {
    out.end_call();
    in.record();
  }
};

// A format's calls. `read` starts behind one of the openers, with the opener recorded. It returns
// true where all that it took was calls and their markers; else what is recorded becomes content.
struct CallSyntax {
  struct Opener {
    Marker marker;
    bool ends_reasoning = false;  // a token that means nothing else: the model forgot to close
  };
  std::vector<Opener> openers;
  Parsing<bool> (*read)(Reading& r, std::string_view opener) = nullptr;
};

// True if something is left behind the white space.
Parsing<bool> skip_space(Reading& r);

// Takes this text. False where the answer goes on differently: then the bytes that agreed are
// taken. An answer that ends inside the text counts as agreeing.
Parsing<bool> take_literal(Reading& r, std::string_view text);

// Takes white space and then one of the markers, whose number is returned. Where something else is
// there, `none_of_them`, and what does not agree is not taken.
inline constexpr int none_of_them = -1;
inline constexpr int answer_over = -2;
Parsing<int> take_one_of(Reading& r, std::span<const Marker> markers);

// Takes text up to a marker and the marker, whose number is returned; answer_over if there is none.
Parsing<int> read_until(Reading& r, std::span<const Marker> markers, std::string& text);
// The same; the text becomes the call's arguments, as it comes.
Parsing<int> arguments_until(Reading& r, std::span<const Marker> markers);

// Takes the name of a function: letters, digits, _ - . : / and whatever is not ASCII, 128 bytes at
// most. False if there is none; stops before the first byte that cannot belong to it.
Parsing<bool> read_name(Reading& r, std::string& name);
bool is_name(std::string_view text);

}  // namespace dure::dialogue
