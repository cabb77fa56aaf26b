// Calls whose parameters are elements: Qwen3-Coder, MiniMax-M2, DeepSeek V3.2 and V4. They differ
// in how elements are spelled, so that each is a row of a table. Values are plain text
// (parameters.h); what stands between elements where nothing belongs is content behind the call.
#include "dialogue/call_syntaxes.h"
#include "dialogue/parameters.h"

namespace dure::dialogue {
namespace {

struct Elements {
  std::string_view open, close;  // around all calls
  std::string_view call_open, call_close;
  std::string_view parameter_open, parameter_close;
  bool quoted;  // names are attributes: call_open f"> instead of call_open f>
  bool padded;  // a line break after the opening and before the closing of a value is no part of it
};

constexpr Elements qwen_coder = {"<tool_call>", "</tool_call>", "<function=", "</function>",
                                 "<parameter=", "</parameter>", false,        true};
constexpr Elements minimax = {"<minimax:tool_call>",
                              "</minimax:tool_call>",
                              "<invoke name=\"",
                              "</invoke>",
                              "<parameter name=\"",
                              "</parameter>",
                              true,
                              false};
constexpr Elements dsml_v32 = {"<｜DSML｜function_calls>",
                               "</｜DSML｜function_calls>",
                               "<｜DSML｜invoke name=\"",
                               "</｜DSML｜invoke>",
                               "<｜DSML｜parameter name=\"",
                               "</｜DSML｜parameter>",
                               true,
                               false};
constexpr Elements dsml_v4 = {"<｜DSML｜tool_calls>",
                              "</｜DSML｜tool_calls>",
                              "<｜DSML｜invoke name=\"",
                              "</｜DSML｜invoke>",
                              "<｜DSML｜parameter name=\"",
                              "</｜DSML｜parameter>",
                              true,
                              false};

// What DeepSeek says of a value: string="true" means text, string="false" JSON.
void apply_attributes(std::string_view attributes, ParameterTypes& types) {
  if (attributes.find("string=\"true\"") != std::string_view::npos) {
    types = {.string = true};
  } else if (attributes.find("string=\"false\"") != std::string_view::npos) {
    types = ParameterTypes::any();
  }
}

// The parameters of a call up to its end.
class CallReader {
 public:
  CallReader(Reading& r, const Elements& elements, std::string name)
      : r_(r), elements_(elements), name_(std::move(name)), arguments_(r.out) {
    if (elements.padded) {
      for (const std::string_view mark :
           {elements.parameter_close, elements.parameter_open, elements.call_close}) {
        lines_.push_back("\n" + std::string(mark));
      }
      value_ends_ = {{lines_[0]}, {elements.parameter_close}, {lines_[1]}, {lines_[2]}};
    } else {
      value_ends_ = {{elements.parameter_close}};
    }
  }
  CallReader(const CallReader&) = delete;
  CallReader& operator=(const CallReader&) = delete;

  // True where the block's own end was taken in place of the call's, or the answer is over.
  Parsing<bool> read() {
    const Marker next[] = {{elements_.parameter_open}, {elements_.call_close}, {elements_.close}};
    std::string stray;
    int found = co_await read_until(r_, next, stray);
    while (found == 0) {
      found = co_await parameter();
      if (found == value_ended) found = co_await read_until(r_, next, stray);
    }
    if (found < 0) co_return true;
    arguments_.close();
    r_.end_call();
    r_.out.content(trimmed(stray));
    co_return found == 2;
  }

 private:
  static constexpr int value_ended = 3;

  // From behind its opening on. What ended it, as a number of `next` where its own end is missing.
  Parsing<int> parameter() {
    const Marker name_end[] = {{elements_.quoted ? "\"" : ">"}};
    std::string key;
    if (co_await read_until(r_, name_end, key) < 0) co_return answer_over;
    ParameterTypes types = types_of(r_.tools, name_, key);
    if (elements_.quoted) {
      const Marker tag_end[] = {{">"}};
      std::string attributes;
      if (co_await read_until(r_, tag_end, attributes) < 0) co_return answer_over;
      apply_attributes(attributes, types);
    }
    arguments_.key(key);
    // The line break that opens a padded value may be the one that closes it.
    if (elements_.padded && co_await r_.in.peek() == '\n') co_await r_.in.take();
    const int found = co_await write_value(r_, arguments_, types, value_ends_);
    if (found < 0) co_return answer_over;
    co_return found == 2 ? 0 : found == 3 ? 1 : value_ended;
  }

  Reading& r_;
  const Elements& elements_;
  std::string name_;
  ArgumentsWriter arguments_;
  std::vector<std::string> lines_;
  std::vector<Marker> value_ends_;
};

// From behind the call's opening on.
Parsing<bool> read_head(Reading& r, const Elements& elements, std::string& name) {
  const bool named = co_await read_name(r, name);
  if (!named) co_return false;
  co_return co_await take_literal(r, elements.quoted ? "\">" : ">");
}

Parsing<bool> read_elements(Reading& r, const Elements& elements, std::string_view opener) {
  const bool in_block = opener == elements.open;
  if (in_block) {
    co_await skip_space(r);
    if (!co_await take_literal(r, elements.call_open)) co_return false;
  }
  const Marker next[] = {{elements.call_open}, {elements.close}};
  for (;;) {
    std::string name;
    if (!co_await read_head(r, elements, name)) co_return false;
    if (co_await r.in.peek() == Source::end) co_return false;
    r.announce(name);
    CallReader call(r, elements, name);
    if (co_await call.read()) co_return true;
    const int found = co_await take_one_of(r, next);
    if (found != 0) co_return found != none_of_them;
  }
}

template <const Elements& elements>
Parsing<bool> read_as(Reading& r, std::string_view opener) {
  return read_elements(r, elements, opener);
}

Parsing<bool> read_dsml(Reading& r, std::string_view opener) {
  return read_elements(r, opener == dsml_v4.open ? dsml_v4 : dsml_v32, opener);
}

}  // namespace

CallSyntax qwen_coder_calls() {
  return {.openers = {{.marker = {qwen_coder.open}}, {.marker = {qwen_coder.call_open}}},
          .read = read_as<qwen_coder>};
}

CallSyntax minimax_calls() {
  return {.openers = {{.marker = {minimax.open}, .ends_reasoning = true}},
          .read = read_as<minimax>};
}

CallSyntax deepseek_dsml_calls() {
  return {.openers = {{.marker = {dsml_v32.open}, .ends_reasoning = true},
                      {.marker = {dsml_v4.open}, .ends_reasoning = true}},
          .read = read_dsml};
}

}  // namespace dure::dialogue
