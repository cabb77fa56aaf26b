// See grammar_constraint.h.
#include "server/grammar_constraint.h"

#include <algorithm>

namespace dure {

GrammarConstraint::GrammarConstraint(std::shared_ptr<const grammar::Constraint> constraint,
                                     std::vector<int32_t> end_ids,
                                     std::optional<FreeReasoning> reasoning)
    : matcher_(constraint),
      words_(constraint->tokens().mask_words()),
      end_ids_(std::move(end_ids)) {
  const auto beyond = [&](int32_t id) { return id < 0 || static_cast<size_t>(id) / 64 >= words_; };
  std::erase_if(end_ids_, beyond);
  if (!reasoning) return;
  reasoning_.emplace(Reasoning{AnswerParser(std::move(reasoning->parsing)),
                               StreamDecoder(std::move(reasoning->tokenizer), false)});
  if (!reasoning_->parser.in_reasoning()) reasoning_.reset();
}

std::vector<uint64_t> GrammarConstraint::mask() {
  if (reasoning_) return {};
  std::vector<uint64_t> mask(words_);
  matcher_.fill_mask(mask);
  // Some models end with tokens that are texts to the grammar.
  for (const int32_t id : end_ids_) {
    mask[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << (id % 64));
  }
  const bool stuck = std::all_of(mask.begin(), mask.end(), [](uint64_t word) { return word == 0; });
  if (!stuck && !matcher_.may_end()) return mask;
  for (const int32_t id : end_ids_) {
    mask[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
  }
  return mask;
}

void GrammarConstraint::accept(int32_t token) {
  if (is_end(token)) return;
  if (!reasoning_) {
    matcher_.accept(static_cast<uint32_t>(token));
    return;
  }
  reasoning_->parser.push(reasoning_->decoder.push(token));
  if (!reasoning_->parser.in_reasoning()) reasoning_.reset();
}

bool GrammarConstraint::is_end(int32_t token) const {
  return std::find(end_ids_.begin(), end_ids_.end(), token) != end_ids_.end();
}

}  // namespace dure
