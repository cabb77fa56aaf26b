// `dure verify`: a checkpoint's recorded prompts through a running group, in any layout, batch
// composition and chunking.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "group/group.h"
#include "protocol/messages.h"
#include "verify/compare.h"

namespace dure {

struct VerifyOptions {
  GroupOptions group;              // model, layout, compute, threads; the rest is filled in
  std::filesystem::path expected;  // empty: expected.safetensors in the model's folder
  int batch = 1;           // sequences in the step with a prompt: its neighbours in the record
  int chunk = 0;           // prompt tokens of a step; 0: the whole prompt at once
  double tolerance = 0.0;  // of the logits; 0: tolerance_for
};

struct VerifyResult {
  std::vector<PromptCheck> prompts;
  Tolerance tolerance;
  double amplification = 1.0;  // beyond what the tolerance assumes, measured in fp32 if needed
  double max_abs_logit_error = 0.0;
  std::string logits_hash;  // xxh3 (64 bits, hexadecimal) of all prompts' raw fp32 logits, in order
  bool passed = false;
  GroupReady group;
  GroupStats stats;  // after the last prompt
};

// Throws what reading the model or running the group throws; a mismatch is a result.
VerifyResult verify(const VerifyOptions& options,
                    const std::function<void(const LoadProgress&)>& on_progress = {});

}  // namespace dure
