// For the tests of this folder: reads an answer in every way of cutting it and tells what it said.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "dialogue/answer_parser.h"

namespace dure {

struct ToldCall {
  std::string name;
  std::string arguments;
  bool complete = true;

  bool operator==(const ToldCall&) const = default;
};

struct Told {
  std::string reasoning;
  std::string content;
  std::vector<ToldCall> calls;

  bool operator==(const Told&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Told& told) {
  out << "reasoning: [" << told.reasoning << "] content: [" << told.content << "]";
  for (const ToldCall& call : told.calls) {
    out << " call: " << call.name << " [" << call.arguments << "]"
        << (call.complete ? "" : " cut off");
  }
  return out;
}

inline AnswerOptions options_of(CallFormat calls, ReasoningFormat reasoning = ReasoningFormat::none,
                                std::vector<Tool> tools = {}) {
  return {.format = {calls, reasoning},
          .tools = std::move(tools),
          .starts_in_reasoning = false,
          .id_seed = "answer-1"};
}

// One tool, by the JSON text of its parameters' `properties`.
Tool tool_with(const std::string& name, const std::string& properties);  // parameters_test.cc

// Neighbours of one kind become one, as if all had come in one piece.
inline std::vector<AnswerDelta> joined(const std::vector<AnswerDelta>& deltas) {
  using Kind = AnswerDelta::Kind;
  std::vector<AnswerDelta> all;
  for (const AnswerDelta& delta : deltas) {
    const bool text = delta.kind != Kind::call && delta.kind != Kind::call_end;
    if (text && !all.empty() && all.back().kind == delta.kind && all.back().index == delta.index) {
      all.back().text += delta.text;
    } else {
      all.push_back(delta);
    }
  }
  return all;
}

inline std::vector<AnswerDelta> read_pieces(const AnswerOptions& options,
                                            const std::vector<std::string_view>& pieces, bool cut) {
  AnswerParser parser(options);
  std::vector<AnswerDelta> all;
  const auto add = [&](const std::vector<AnswerDelta>& deltas) {
    for (const AnswerDelta& delta : deltas) {
      EXPECT_EQ(utf8::first_invalid(delta.text), delta.text.size()) << "a character was split";
      const bool is_text =
          delta.kind != AnswerDelta::Kind::call && delta.kind != AnswerDelta::Kind::call_end;
      EXPECT_EQ(delta.text.empty(), !is_text);
      EXPECT_EQ(delta.id.empty(), delta.kind != AnswerDelta::Kind::call);
      EXPECT_EQ(delta.name.empty(), delta.kind != AnswerDelta::Kind::call);
      all.push_back(delta);
    }
  };
  for (const std::string_view piece : pieces) add(parser.push(piece));
  add(parser.finish(cut));
  return all;
}

// Where characters begin, and the end.
inline std::vector<size_t> character_borders(std::string_view text) {
  std::vector<size_t> borders;
  for (size_t at = 0; at < text.size(); at += utf8::length(text[at])) borders.push_back(at);
  borders.push_back(text.size());
  return borders;
}

inline Told told(const std::vector<AnswerDelta>& deltas) {
  using Kind = AnswerDelta::Kind;
  Told told;
  for (const AnswerDelta& delta : deltas) {
    switch (delta.kind) {
      case Kind::reasoning:
        told.reasoning += delta.text;
        break;
      case Kind::content:
        told.content += delta.text;
        break;
      case Kind::call:
        EXPECT_EQ(delta.index, static_cast<int>(told.calls.size()));
        told.calls.push_back({delta.name, "", false});
        break;
      case Kind::arguments:
        EXPECT_EQ(delta.index + 1, static_cast<int>(told.calls.size()));
        if (told.calls.empty()) break;
        EXPECT_FALSE(told.calls.back().complete) << "arguments behind the end of the call";
        told.calls.back().arguments += delta.text;
        break;
      case Kind::call_end:
        EXPECT_EQ(delta.index + 1, static_cast<int>(told.calls.size()));
        if (!told.calls.empty()) told.calls.back().complete = true;
        break;
    }
  }
  return told;
}

// Whole, in two at every place, in single characters, and cut at random: always the same deltas.
inline Told read_every_way(const AnswerOptions& options, std::string_view text, bool cut = false) {
  const std::vector<AnswerDelta> whole = joined(read_pieces(options, {text}, cut));
  const std::vector<size_t> borders = character_borders(text);
  std::vector<std::string_view> letters;
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    letters.push_back(text.substr(borders[i], borders[i + 1] - borders[i]));
    const std::vector<std::string_view> two = {text.substr(0, borders[i]), text.substr(borders[i])};
    EXPECT_EQ(joined(read_pieces(options, two, cut)), whole) << "cut at byte " << borders[i];
  }
  EXPECT_EQ(joined(read_pieces(options, letters, cut)), whole) << "letter by letter";
  std::mt19937 random(text.size());
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string_view> pieces;
    for (size_t from = 0; from + 1 < borders.size();) {
      const size_t to = std::min(from + 1 + random() % 9, borders.size() - 1);
      pieces.push_back(text.substr(borders[from], borders[to] - borders[from]));
      from = to;
    }
    EXPECT_EQ(joined(read_pieces(options, pieces, cut)), whole) << "cut at random";
  }
  return told(whole);
}

}  // namespace dure
