// Holds one sequence to a grammar, behind the reasoning it may begin with.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dialogue/answer_parser.h"
#include "grammar/matcher.h"
#include "server/generation.h"
#include "text/tokenizer.h"

namespace dure {

// Reasoning that the prompt has opened and that the grammar does not speak of.
struct FreeReasoning {
  AnswerOptions parsing;
  std::shared_ptr<const Tokenizer> tokenizer;
};

class GrammarConstraint : public TokenConstraint {
 public:
  // `end_ids`: of the model's own end. They are allowed where the answer may end, and where no
  // other token can follow.
  GrammarConstraint(std::shared_ptr<const grammar::Constraint> constraint,
                    std::vector<int32_t> end_ids, std::optional<FreeReasoning> reasoning);

  void accept(int32_t token) override;
  std::vector<uint64_t> mask() override;
  std::optional<std::vector<uint64_t>> mask_within(uint64_t& work) override;
  std::shared_ptr<const void> grammar() const override { return grammar_; }

 private:
  struct Reasoning {
    AnswerParser parser;
    StreamDecoder decoder;
  };

  bool take_accepted(uint64_t& work);
  void add_ends(std::vector<uint64_t>& mask) const;
  bool is_end(int32_t token) const;

  std::shared_ptr<const grammar::Constraint> grammar_;
  grammar::Matcher matcher_;
  std::vector<int32_t> end_ids_;
  std::optional<int32_t> accepted_;     // and not yet taken
  std::optional<Reasoning> reasoning_;  // until it is over
};

}  // namespace dure
