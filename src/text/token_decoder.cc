// Decoder steps that work token by token; the stream decoder joins what they give.
#include "text/token_decoder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "text/component.h"
#include "text/pattern.h"

namespace dure {
namespace {

constexpr int max_depth = 16;

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    out += text.substr(0, at);
    out += to;
    text.remove_prefix(at + from.size());
  }
  return out += text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

TokenDecoder TokenDecoder::parse(const Json& component, std::string_view what) {
  TokenDecoder decoder;
  if (component.is_null()) return decoder;
  decoder.kind_ = Kind::fragments;
  decoder.add(component, what, 0);
  return decoder;
}

void TokenDecoder::add(const Json& component, std::string_view what, int depth) {
  using component::only_keys;
  using component::refuse;
  const std::string type = component::type(component, what);
  if (kind_ == Kind::bytes) refuse(what, "steps after ByteLevel are not implemented");
  if (type == "Sequence") {
    only_keys(component, {"decoders"}, what);
    if (depth > max_depth) refuse(what, "sequences are nested too deeply");
    int index = 0;
    for (const Json& child : component::list(component, "decoders", what))
      add(child, fmt::format("{}.decoders[{}]", what, index++), depth + 1);
  } else if (type == "ByteLevel") {
    only_keys(component, {"add_prefix_space", "trim_offsets", "use_regex"}, what);
    if (!steps_.empty() || byte_fallback_ || fused_)
      refuse(what, "ByteLevel after other decoders is not implemented");
    kind_ = Kind::bytes;
  } else if (type == "Strip") {
    const Strip strip = parse_strip(component, what);
    if (!fused_) {
      if (byte_fallback_) refuse(what, "Strip between ByteFallback and Fuse is not implemented");
      steps_.push_back(strip);
    } else {
      if (strip.right != 0) refuse(what, "Strip of the end of the text is not implemented");
      if (strip_count_ != 0) refuse(what, "a second Strip after Fuse is not implemented");
      strip_character_ = strip.character;
      strip_count_ = strip.left;
    }
  } else if (fused_) {
    refuse(what, fmt::format("'{}' after Fuse is not implemented", type));
  } else if (type == "Fuse") {
    only_keys(component, {}, what);
    fused_ = true;
  } else if (type == "ByteFallback") {
    only_keys(component, {}, what);
    byte_fallback_ = true;
  } else if (byte_fallback_) {
    refuse(what, fmt::format("'{}' after ByteFallback is not implemented", type));
  } else if (type == "Replace") {
    only_keys(component, {"pattern", "content"}, what);
    const Pattern pattern = Pattern::parse(component::field(component, "pattern", what), what);
    if (pattern.as_literal() == nullptr || pattern.as_literal()->empty())
      refuse(what, "Replace of anything but a literal string is not implemented");
    steps_.push_back(Replace{*pattern.as_literal(), component::text(component, "content", what)});
  } else if (type == "Metaspace") {
    only_keys(component, {"replacement", "prepend_scheme", "split"}, what);
    if (!steps_.empty()) refuse(what, "Metaspace after other decoders is not implemented");
    steps_.push_back(Metaspace{component::text(component, "replacement", what),
                               component::text(component, "prepend_scheme", what) != "never"});
    if (std::get<Metaspace>(steps_.back()).replacement.empty())
      refuse(what, "'replacement' is empty");
  } else {
    refuse(what, fmt::format("the decoder '{}' is not implemented", type));
  }
}

TokenDecoder::Strip TokenDecoder::parse_strip(const Json& component, std::string_view what) {
  component::only_keys(component, {"content", "start", "stop"}, what);
  Strip strip{component::text(component, "content", what), 0, 0};
  if (strip.character.empty() || utf8::length(strip.character.front()) != strip.character.size())
    component::refuse(what, "'content' is not one character");
  for (const auto& [key, value] : {std::pair<const char*, uint32_t*>{"start", &strip.left},
                                   std::pair<const char*, uint32_t*>{"stop", &strip.right}}) {
    const Json& number = component::field(component, key, what);
    if (!number.is_number_unsigned() || number.get<uint64_t>() > 1000)
      component::refuse(what, fmt::format("'{}' is not a number up to 1000", key));
    *value = number.get<uint32_t>();
  }
  return strip;
}

std::string TokenDecoder::fragment(std::string_view token, bool first) const {
  std::string text(token);
  for (const Step& step : steps_) {
    if (const auto* replace = std::get_if<Replace>(&step)) {
      text = replace_all(text, replace->from, replace->to);
    } else if (const auto* metaspace = std::get_if<Metaspace>(&step)) {
      const bool drop = first && metaspace->drop_at_start;
      text = replace_all(text, metaspace->replacement, drop ? "" : " ");
    } else {
      const auto& strip = std::get<Strip>(step);
      const size_t size = strip.character.size();
      for (uint32_t i = 0; i < strip.left && text.starts_with(strip.character); ++i)
        text.erase(0, size);
      for (uint32_t i = 0; i < strip.right && text.ends_with(strip.character); ++i)
        text.resize(text.size() - size);
    }
  }
  return text;
}

int TokenDecoder::byte_of(std::string_view fragment) const {
  if (!byte_fallback_ || fragment.size() != 6 || !fragment.starts_with("<0x") ||
      fragment.back() != '>')
    return -1;
  const int high = hex_digit(fragment[3]);
  const int low = hex_digit(fragment[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace dure
