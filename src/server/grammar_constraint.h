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

  std::vector<uint64_t> mask() override;
  void accept(int32_t token) override;

 private:
  struct Reasoning {
    AnswerParser parser;
    StreamDecoder decoder;
  };

  bool is_end(int32_t token) const;

  grammar::Matcher matcher_;
  size_t words_;
  std::vector<int32_t> end_ids_;
  std::optional<Reasoning> reasoning_;  // until it is over
};

}  // namespace dure
