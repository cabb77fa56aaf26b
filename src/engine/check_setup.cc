// See check_setup.h.
#include "engine/check_setup.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

namespace dure {
namespace {

struct Within {
  int64_t vocab = 0;

  std::string fault_of(const char* what, std::span<const int32_t> tokens) const {
    for (const int32_t token : tokens) {
      if (token >= 0 && token < vocab) continue;
      return fmt::format("{} has token {} of a vocabulary of {}", what, token, vocab);
    }
    return "";
  }
};

std::string number_fault(const SamplingParams& params) {
  struct Ranged {
    const char* name;
    float value;
    bool fits;
  };
  for (const Ranged& each :
       {Ranged{"temperature", params.temperature, params.temperature >= 0.0f},
        {"top_p", params.top_p, params.top_p > 0.0f && params.top_p <= 1.0f},
        {"min_p", params.min_p, params.min_p >= 0.0f && params.min_p <= 1.0f},
        {"presence_penalty", params.presence_penalty, true},
        {"frequency_penalty", params.frequency_penalty, true},
        {"repetition_penalty", params.repetition_penalty, params.repetition_penalty > 0.0f}}) {
    if (!each.fits || !std::isfinite(each.value)) {
      return fmt::format("{} is {}", each.name, each.value);
    }
  }
  return "";
}

std::string token_fault(const SamplingParams& params, const Within& within) {
  for (const LogitBias& each : params.logit_bias) {
    if (std::string fault = within.fault_of("logit_bias", {&each.token, 1}); !fault.empty()) {
      return fault;
    }
    if (!std::isfinite(each.bias)) return fmt::format("logit_bias is {}", each.bias);
  }
  for (const std::vector<int32_t>& word : params.bad_words) {
    if (word.empty()) return "a bad word is empty";
    if (std::string fault = within.fault_of("bad_words", word); !fault.empty()) return fault;
  }
  if (std::string fault = within.fault_of("allowed_ids", params.allowed_ids); !fault.empty()) {
    return fault;
  }
  return within.fault_of("stop_ids", params.stop_ids);
}

}  // namespace

std::string setup_fault(const Slice& slice, int64_t vocab) {
  const Within within{vocab};
  if (!slice.mask.empty() && static_cast<int64_t>(slice.mask.size()) != (vocab + 63) / 64) {
    return fmt::format("a mask of {} words for a vocabulary of {}", slice.mask.size(), vocab);
  }
  if (slice.next_token >= vocab) return within.fault_of("next_token", {&slice.next_token, 1});
  if (!slice.setup) return "";
  const SequenceSetup& setup = *slice.setup;
  if (std::string fault = number_fault(setup.sampling); !fault.empty()) return fault;
  if (std::string fault = token_fault(setup.sampling, within); !fault.empty()) return fault;
  if (!needs_history(setup.sampling)) return "";
  if (static_cast<int64_t>(setup.history.size()) != slice.start) {
    return fmt::format("a history of {} tokens before position {}", setup.history.size(),
                       slice.start);
  }
  return within.fault_of("history", setup.history);
}

}  // namespace dure
