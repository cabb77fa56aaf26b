// Pre-tokenizer steps, each applied to the pieces of the one before.
#include "text/pre_tokenizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "text/component.h"

namespace dure {
namespace {

constexpr int max_depth = 16;

// The split of GPT-2, which ByteLevel does itself unless use_regex is false.
constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// Words and runs of other visible characters, with the word characters of Rust's regex crate.
constexpr std::string_view whitespace_pattern =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+)"
    R"(|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}\s]+)";
constexpr std::string_view punctuation_pattern = R"([\p{P}!-/:-@\[-`{-~])";

}  // namespace

PreTokenizer PreTokenizer::parse(const Json& component, std::string_view what) {
  PreTokenizer made;
  if (!component.is_null()) made.add(component, what, 0);
  return made;
}

PreTokenizer::Behavior PreTokenizer::behavior_of(const std::string& name, std::string_view what) {
  if (name == "Isolated") return Behavior::isolated;
  if (name == "Removed") return Behavior::removed;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  component::refuse(what, fmt::format("the behavior '{}' is unknown", name));
}

void PreTokenizer::add_split(Pattern pattern, Behavior behavior, bool invert) {
  steps_.push_back(Split{std::move(pattern), behavior, invert});
}

void PreTokenizer::add(const Json& component, std::string_view what, int depth) {
  using component::field;
  using component::flag;
  using component::only_keys;
  const std::string type = component::type(component, what);
  if (byte_level_) component::refuse(what, "steps after ByteLevel are not implemented");
  if (type == "Sequence") {
    only_keys(component, {"pretokenizers"}, what);
    if (depth > max_depth) component::refuse(what, "sequences are nested too deeply");
    int index = 0;
    for (const Json& child : component::list(component, "pretokenizers", what))
      add(child, fmt::format("{}.pretokenizers[{}]", what, index++), depth + 1);
  } else if (type == "Split") {
    only_keys(component, {"pattern", "behavior", "invert"}, what);
    add_split(Pattern::parse(field(component, "pattern", what), what),
              behavior_of(component::text(component, "behavior", what), what),
              flag(component, "invert", false, what));
  } else if (type == "ByteLevel") {
    add_byte_level(component, what);
  } else if (type == "Metaspace") {
    add_metaspace(component, what);
  } else if (type == "Digits") {
    only_keys(component, {"individual_digits"}, what);
    add_split(Pattern::regex(R"(\p{N})", what), flag(component, "individual_digits", false, what)
                                                    ? Behavior::isolated
                                                    : Behavior::contiguous);
  } else if (type == "Punctuation") {
    only_keys(component, {"behavior"}, what);
    add_split(Pattern::regex(punctuation_pattern, what),
              component.contains("behavior")
                  ? behavior_of(component::text(component, "behavior", what), what)
                  : Behavior::isolated);
  } else if (type == "Whitespace") {
    only_keys(component, {}, what);
    add_split(Pattern::regex(whitespace_pattern, what), Behavior::removed, true);
  } else if (type == "WhitespaceSplit") {
    only_keys(component, {}, what);
    add_split(Pattern::regex(R"(\s)", what), Behavior::removed);
  } else if (type == "CharDelimiterSplit") {
    only_keys(component, {"delimiter"}, what);
    add_split(Pattern::literal(component::text(component, "delimiter", what)), Behavior::removed);
  } else {
    component::refuse(what, fmt::format("the pre-tokenizer '{}' is not implemented", type));
  }
}

void PreTokenizer::add_byte_level(const Json& component, std::string_view what) {
  component::only_keys(component, {"add_prefix_space", "trim_offsets", "use_regex"}, what);
  if (component::flag(component, "add_prefix_space", true, what))
    steps_.push_back(Prefix{" ", false});
  if (component::flag(component, "use_regex", true, what))
    add_split(Pattern::regex(gpt2_pattern, what), Behavior::isolated);
  byte_level_ = true;
}

void PreTokenizer::add_metaspace(const Json& component, std::string_view what) {
  component::only_keys(component, {"replacement", "prepend_scheme", "split", "add_prefix_space"},
                       what);
  if (component.contains("add_prefix_space"))
    component::refuse(what, "'add_prefix_space' is the old form of 'prepend_scheme'");
  const std::string replacement = component::text(component, "replacement", what);
  const std::string scheme = component::text(component, "prepend_scheme", what);
  steps_.push_back(Replace{" ", replacement});
  if (scheme == "always" || scheme == "first")
    steps_.push_back(Prefix{replacement, scheme == "first"});
  else if (scheme != "never")
    component::refuse(what, fmt::format("the prepend_scheme '{}' is unknown", scheme));
  if (component::flag(component, "split", true, what))
    add_split(Pattern::literal(replacement), Behavior::merged_with_next);
}

void PreTokenizer::split(const Split& step, std::string_view text, Piece piece, Scratch& scratch,
                         std::vector<Piece>& out) {
  step.pattern.find_all(text.substr(piece.begin, piece.end - piece.begin), scratch.regex,
                        scratch.matches);
  const size_t first = out.size();
  bool previous = false;  // whether the part before was a match
  const auto part = [&](uint32_t begin, uint32_t end, bool is_match) {
    if (begin == end) return;
    is_match = is_match != step.invert;
    const bool any = out.size() > first;
    bool joins = false;
    switch (step.behavior) {
      case Behavior::isolated:
        break;
      case Behavior::removed:
        if (is_match) return;
        break;
      case Behavior::merged_with_previous:
        joins = is_match && !previous;
        break;
      case Behavior::merged_with_next:  // a match takes in what follows, unless that is a match
        joins = previous && !is_match;
        break;
      case Behavior::contiguous:
        joins = is_match == previous;
        break;
    }
    if (joins && any)
      out.back().end = end;
    else
      out.push_back({begin, end});
    previous = is_match;
  };
  uint32_t done = piece.begin;
  for (const Regex::Match& match : scratch.matches) {
    const auto begin = piece.begin + static_cast<uint32_t>(match.begin);
    const auto end = piece.begin + static_cast<uint32_t>(match.end);
    part(done, begin, false);
    part(begin, end, true);
    done = end;
  }
  part(done, piece.end, false);
}

void PreTokenizer::apply(std::string& text, bool at_start, Scratch& scratch,
                         std::vector<Piece>& pieces) const {
  pieces.clear();
  if (!text.empty()) pieces.push_back({0, static_cast<uint32_t>(text.size())});
  std::vector<Piece>& next = scratch.pieces;
  for (const Step& step : steps_) {
    next.clear();
    if (const auto* cut = std::get_if<Split>(&step)) {
      for (const Piece piece : pieces) split(*cut, text, piece, scratch, next);
      pieces.swap(next);
      continue;
    }
    // The other steps write the text anew, piece by piece.
    std::string changed;
    changed.reserve(text.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      const std::string_view piece =
          std::string_view(text).substr(pieces[i].begin, pieces[i].end - pieces[i].begin);
      const auto begin = static_cast<uint32_t>(changed.size());
      if (const auto* prefix = std::get_if<Prefix>(&step)) {
        const bool wanted = !prefix->only_at_start || (at_start && i == 0);
        if (wanted && !piece.starts_with(prefix->prefix)) changed += prefix->prefix;
        changed += piece;
      } else {
        const auto& replace = std::get<Replace>(step);
        Pattern::literal(replace.from).find_all(piece, scratch.regex, scratch.matches);
        size_t done = 0;
        for (const Regex::Match& match : scratch.matches) {
          changed.append(piece, done, match.begin - done);
          changed += replace.to;
          done = match.end;
        }
        changed.append(piece, done, std::string_view::npos);
      }
      next.push_back({begin, static_cast<uint32_t>(changed.size())});
    }
    text = std::move(changed);
    pieces.swap(next);
  }
}

}  // namespace dure
