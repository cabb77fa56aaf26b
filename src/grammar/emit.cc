// See emit.h. No arc is added into `from` or out of `to`, so that parts can share them. The
// construction is Thompson's ("Regular Expression Search Algorithm", CACM 1968), with
// two additions: alternatives that are plain texts become a tree of bytes, and long counted repeats
// become one counting call instead of copies.
#include "grammar/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "base/utf8.h"

namespace dure::grammar {
namespace {

using Kind = Expression::Kind;

// Repeats up to this many states are written out: their masks are found sooner than a counter's.
constexpr uint64_t most_copied_states = 160;

uint64_t copies_of(const Expression& repeat) {
  return repeat.high == unbounded ? std::max(repeat.low, 1U) : repeat.high;
}

uint64_t states_of(const Expression& e) {
  constexpr uint64_t cap = uint64_t{1} << 40;
  uint64_t sum = 2;
  if (e.kind == Kind::text) sum += e.bytes.size();
  if (e.kind == Kind::characters && !e.set.empty() && e.set.ranges().back().high >= 0x80) {
    sum += 2 * e.set.ranges().size() + 4;
  }
  for (const Expression& part : e.parts) sum += states_of(part);
  if (e.kind == Kind::repeat && sum * copies_of(e) <= most_copied_states) sum *= copies_of(e);
  return std::min(sum, cap);
}

std::string json_escape(uint32_t character) {
  switch (character) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", character);
  }
}

}  // namespace

const CodePoints& escaped_in_json() {
  static const CodePoints set{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  return set;
}

namespace {

// UTF-8 of a range of characters as sequences of byte ranges. Sequences that end alike share
// states.
class Utf8Ranges {
 public:
  Utf8Ranges(AutomatonBuilder& builder, StateId from, StateId to)
      : builder_(builder), from_(from), to_(to) {}

  void add(uint32_t low, uint32_t high) {
    // Cut where the length changes, and where a tail of continuation bytes is not the whole range.
    for (const uint32_t last : {0x7FU, 0x7FFU, 0xFFFFU}) {
      if (low <= last && last < high) {
        add(low, last);
        add(last + 1, high);
        return;
      }
    }
    for (int bits = 6; bits < 24 && high >= 0x80; bits += 6) {
      const uint32_t tail = (1U << bits) - 1;
      if ((low & ~tail) == (high & ~tail)) break;
      if ((low & tail) != 0) {
        add(low, low | tail);
        add((low | tail) + 1, high);
        return;
      }
      if ((high & tail) != tail) {
        add(low, (high & ~tail) - 1);
        add(high & ~tail, high);
        return;
      }
    }
    std::string first, last;
    utf8::append(first, low);
    utf8::append(last, high);
    StateId to = to_;
    for (size_t i = first.size(); i-- > 0;) {
      const auto a = static_cast<uint8_t>(first[i]), b = static_cast<uint8_t>(last[i]);
      if (i == 0) {
        builder_.add_bytes(from_, a, b, to);
      } else {
        to = before(a, b, to);
      }
    }
  }

 private:
  StateId before(uint8_t low, uint8_t high, StateId to) {
    const auto [at, fresh] = shared_.try_emplace({low, high, to}, 0);
    if (fresh) {
      at->second = builder_.add_state();
      builder_.add_bytes(at->second, low, high, to);
    }
    return at->second;
  }

  AutomatonBuilder& builder_;
  StateId from_, to_;
  std::map<std::tuple<uint8_t, uint8_t, StateId>, StateId> shared_;
};

}  // namespace

void Emitter::emit(const Expression& e, StateId from, StateId to) {
  switch (e.kind) {
    case Kind::sequence: {
      if (e.parts.empty()) return builder_.add_epsilon(from, to);
      for (size_t i = 0; i < e.parts.size(); ++i) {
        const StateId next = i + 1 == e.parts.size() ? to : builder_.add_state();
        emit(e.parts[i], from, next);
        from = next;
      }
      return;
    }
    case Kind::choice:
      return emit_choice(e, from, to);
    case Kind::repeat:
      return emit_repeat(e, from, to);
    case Kind::text:
      return emit_text(e.bytes, from, to);
    case Kind::characters:
      return emit_characters(e.set, from, to);
    case Kind::rule:
      return builder_.add_call(from, e.called, 1, 1, to);
    case Kind::begin:
    case Kind::end:
      break;
  }
  DURE_CHECK(!"anchors are resolved before an expression is emitted");
}

std::string Emitter::encoded(std::string_view text) const {
  if (encoding_ == Encoding::utf8) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (escaped_in_json().contains(byte)) {
      out += json_escape(byte);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

void Emitter::emit_text(std::string_view text, StateId from, StateId to) {
  builder_.add_text(from, encoded(text), to);
}

// Whether the expression is one text, which is put behind `text`.
bool Emitter::literal_of(const Expression& e, std::string& text) const {
  switch (e.kind) {
    case Kind::text:
      text += e.bytes;
      return true;
    case Kind::characters:
      if (e.set.single() < 0) return false;
      utf8::append(text, static_cast<uint32_t>(e.set.single()));
      return true;
    case Kind::sequence:
      return std::ranges::all_of(e.parts, [&](const auto& part) { return literal_of(part, text); });
    default:
      return false;
  }
}

void Emitter::emit_choice(const Expression& e, StateId from, StateId to) {
  std::vector<std::string> literals;
  for (const Expression& part : e.parts) {
    std::string literal;
    if (literal_of(part, literal)) {
      literals.push_back(encoded(literal));
      continue;
    }
    emit(part, from, to);
  }
  if (!literals.empty()) builder_.add_choice(from, std::move(literals), to);
}

void Emitter::emit_repeat(const Expression& e, StateId from, StateId to) {
  if (e.high == 0) return builder_.add_epsilon(from, to);
  const uint64_t copies = copies_of(e);
  if (copies == 1 || states_of(e.parts[0]) * copies <= most_copied_states) {
    return emit_copies(e, from, to);
  }
  const RuleId body = builder_.add_rule("a repeated part");
  emit(e.parts[0], builder_.start(body), builder_.end(body));
  builder_.add_call(from, body, e.low, e.high, to);
}

void Emitter::emit_copies(const Expression& e, StateId from, StateId to) {
  const Expression& part = e.parts[0];
  const bool loops = e.high == unbounded;
  for (uint32_t i = loops ? 1 : 0; i < e.low; ++i) {
    const StateId next = builder_.add_state();
    emit(part, from, next);
    from = next;
  }
  if (loops) {
    const StateId loop = builder_.add_state(), back = builder_.add_state();
    builder_.add_epsilon(from, loop);
    emit(part, loop, back);
    builder_.add_epsilon(back, loop);
    builder_.add_epsilon(e.low == 0 ? loop : back, to);
    return;
  }
  for (uint32_t i = e.low; i < e.high; ++i) {
    const StateId next = builder_.add_state();
    emit(part, from, next);
    builder_.add_epsilon(from, to);
    from = next;
  }
  builder_.add_epsilon(from, to);
}

void Emitter::emit_characters(const CodePoints& set, StateId from, StateId to) {
  if (encoding_ == Encoding::utf8) return emit_utf8(set, from, to);
  emit_utf8(set.intersection(escaped_in_json().complement()), from, to);
  const CodePoints escaped = set.intersection(escaped_in_json());
  std::vector<std::string> escapes;
  for (const CodePoints::Range& range : escaped.ranges()) {
    for (uint32_t c = range.low; c <= range.high; ++c) escapes.push_back(json_escape(c));
  }
  if (!escapes.empty()) builder_.add_choice(from, std::move(escapes), to);
}

void Emitter::emit_utf8(const CodePoints& set, StateId from, StateId to) {
  Utf8Ranges utf8(builder_, from, to);
  for (const CodePoints::Range& range : set.ranges()) utf8.add(range.low, range.high);
}

}  // namespace dure::grammar
