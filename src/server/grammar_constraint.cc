// See grammar_constraint.h.
#include "server/grammar_constraint.h"

#include <algorithm>

namespace dure {
namespace {

constexpr uint64_t unbounded_work = UINT64_MAX;  // grammar/limits.h bounds it all the same

}  // namespace

GrammarConstraint::GrammarConstraint(std::shared_ptr<const grammar::Constraint> constraint,
                                     std::vector<int32_t> end_ids,
                                     std::optional<FreeReasoning> reasoning)
    : grammar_(std::move(constraint)), matcher_(grammar_), end_ids_(std::move(end_ids)) {
  const size_t words = grammar_->tokens().mask_words();
  const auto beyond = [&](int32_t id) { return id < 0 || static_cast<size_t>(id) / 64 >= words; };
  std::erase_if(end_ids_, beyond);
  if (!reasoning) return;
  reasoning_.emplace(Reasoning{AnswerParser(std::move(reasoning->parsing)),
                               StreamDecoder(std::move(reasoning->tokenizer), false)});
  if (!reasoning_->parser.in_reasoning()) reasoning_.reset();
}

void GrammarConstraint::accept(int32_t token) {
  uint64_t work = unbounded_work;
  take_accepted(work);
  accepted_ = token;
}

std::vector<uint64_t> GrammarConstraint::mask() {
  uint64_t work = unbounded_work;
  take_accepted(work);
  if (reasoning_) return {};
  std::vector<uint64_t> mask(grammar_->tokens().mask_words());
  matcher_.fill_mask(mask);
  add_ends(mask);
  return mask;
}

std::optional<std::vector<uint64_t>> GrammarConstraint::mask_within(uint64_t& work) {
  if (work == 0 || !take_accepted(work)) return std::nullopt;
  if (reasoning_) return std::vector<uint64_t>();
  std::vector<uint64_t> mask(grammar_->tokens().mask_words());
  if (!matcher_.fill_mask(mask, work)) return std::nullopt;
  add_ends(mask);
  return mask;
}

// False, and nothing has changed, where the work does not suffice.
bool GrammarConstraint::take_accepted(uint64_t& work) {
  if (!accepted_) return true;
  const int32_t token = *accepted_;
  if (reasoning_ && !is_end(token)) {
    reasoning_->parser.push(reasoning_->decoder.push(token));
    if (!reasoning_->parser.in_reasoning()) reasoning_.reset();
  } else if (!is_end(token)) {
    matcher_.accept(static_cast<uint32_t>(token), work);
    if (work == 0) return false;
  }
  accepted_.reset();
  return true;
}

void GrammarConstraint::add_ends(std::vector<uint64_t>& mask) const {
  // Some models end with tokens that are texts to the grammar.
  for (const int32_t id : end_ids_) {
    mask[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << (id % 64));
  }
  const bool stuck = std::all_of(mask.begin(), mask.end(), [](uint64_t word) { return word == 0; });
  if (!stuck && !matcher_.may_end()) return;
  for (const int32_t id : end_ids_) {
    mask[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
  }
}

bool GrammarConstraint::is_end(int32_t token) const {
  return std::find(end_ids_.begin(), end_ids_.end(), token) != end_ids_.end();
}

}  // namespace dure
