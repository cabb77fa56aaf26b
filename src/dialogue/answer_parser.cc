// See answer_parser.h: the syntaxes of the two formats, read by one coroutine.
#include "dialogue/answer_parser.h"

#include <utility>

#include "base/error.h"
#include "dialogue/answer_flow.h"
#include "dialogue/call_syntaxes.h"
#include "dialogue/harmony.h"

namespace dure {
namespace {

using namespace dialogue;

CallSyntax call_syntax(CallFormat format) {
  switch (format) {
    case CallFormat::none:
    case CallFormat::harmony:
      return {};
    case CallFormat::hermes:
      return hermes_calls();
    case CallFormat::qwen3_coder:
      return qwen_coder_calls();
    case CallFormat::llama3_json:
      return llama_calls();
    case CallFormat::pythonic:
      return pythonic_calls();
    case CallFormat::deepseek_v3:
    case CallFormat::deepseek_v31:
      return deepseek_calls();
    case CallFormat::deepseek_dsml:
      return deepseek_dsml_calls();
    case CallFormat::glm:
      return glm_calls();
    case CallFormat::mistral_list:
    case CallFormat::mistral_args:
      return mistral_calls();
    case CallFormat::kimi_k2:
      return kimi_calls();
    case CallFormat::minimax_m2:
      return minimax_calls();
    case CallFormat::phi4_mini:
      return phi4_calls();
  }
  return {};
}

ReasoningSyntax reasoning_syntax(ReasoningFormat format) {
  switch (format) {
    case ReasoningFormat::none:
    case ReasoningFormat::harmony:
      return {};
    case ReasoningFormat::think:
    case ReasoningFormat::think_at_start:
      return {"<think>", "</think>"};
    case ReasoningFormat::think_brackets:
      return {"[THINK]", "[/THINK]"};
    case ReasoningFormat::minimax_m3:
      return {"<mm:think>", "</mm:think>"};
  }
  return {};
}

bool is_mistral(CallFormat format) {
  return format == CallFormat::mistral_list || format == CallFormat::mistral_args;
}

}  // namespace

struct AnswerParser::Impl {
  explicit Impl(AnswerOptions options)
      : reading{.in = {},
                .out = AnswerSink(CallIds(options.id_seed, is_mistral(options.format.calls)
                                                               ? CallIds::Style::nine_letters
                                                               : CallIds::Style::usual)),
                .tools = std::move(options.tools),
                .cut = false},
        syntax{.calls = call_syntax(options.format.calls),
               .reasoning = reasoning_syntax(options.format.reasoning),
               .starts_in_reasoning = options.starts_in_reasoning} {
    const bool harmony = options.format.calls == CallFormat::harmony ||
                         options.format.reasoning == ReasoningFormat::harmony;
    plain = !harmony && syntax.calls.openers.empty() && syntax.reasoning.open.empty();
    if (plain) return;
    DURE_CHECK(harmony || !syntax.starts_in_reasoning || !syntax.reasoning.open.empty());
    parser = harmony ? read_harmony(reading) : read_answer(reading, syntax);
    parser.start(reading.in);
    reading.in.push("");  // up to where it waits for text: in reasoning, if the prompt opened it
  }

  Reading reading;
  AnswerSyntax syntax;
  bool plain = false;    // all is content, to the byte
  Parsing<bool> parser;  // uses the members above
};

AnswerParser::AnswerParser(AnswerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
AnswerParser::AnswerParser(AnswerParser&&) noexcept = default;
AnswerParser& AnswerParser::operator=(AnswerParser&&) noexcept = default;
AnswerParser::~AnswerParser() = default;

std::vector<AnswerDelta> AnswerParser::push(std::string_view piece) {
  Reading& reading = impl_->reading;
  if (impl_->plain) {
    reading.out.verbatim(piece);
  } else {
    reading.in.push(piece);
    impl_->parser.rethrow();
  }
  return reading.out.take();
}

std::vector<AnswerDelta> AnswerParser::finish(bool cut) {
  Reading& reading = impl_->reading;
  if (impl_->plain) return {};
  reading.cut = cut;
  reading.in.finish();
  impl_->parser.rethrow();
  if (reading.out.in_call() && !cut) reading.out.end_call();
  reading.out.finish();
  return reading.out.take();
}

bool AnswerParser::in_reasoning() const {
  return impl_->reading.out.in_reasoning();
}
int AnswerParser::calls() const {
  return impl_->reading.out.calls();
}

}  // namespace dure
