// bind_inventory of checkpoint.h: does this checkpoint hold exactly this model?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/closest.h"
#include "base/error.h"
#include "model/checkpoint.h"
#include "model/harmless_tensors.h"
#include "model/quantized/scaled_codes.h"

namespace dure {
namespace {

// What errors name: the file, or the folder of several.
std::string name_of(const CheckpointReader& checkpoint) {
  const auto& files = checkpoint.files();
  return (files.size() == 1 ? files[0] : files.at(0).parent_path()).string();
}

// Where what the model is was read, for errors.
std::string_view statement_of(const CheckpointReader& checkpoint) {
  return checkpoint.files().at(0).extension() == ".gguf" ? "the metadata" : "config.json";
}

// Of the tensors that this model has no use for, the one that was perhaps meant.
std::string hint_for_missing(const Weight& missing, const std::set<std::string_view>& known,
                             const CheckpointReader& checkpoint) {
  constexpr size_t most_compared = 1000;
  std::vector<std::string> strangers;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (!known.contains(tensor.name) && strangers.size() < most_compared) {
      strangers.push_back(tensor.name);
    }
  }
  const std::optional<std::string> nearest = closest(missing.name, strangers);
  const std::string_view statement = statement_of(checkpoint);
  if (!nearest) return fmt::format("incomplete download, or {} is of a larger model", statement);
  return fmt::format("{} is of another model? The nearest name there is {:.120}", statement,
                     *nearest);
}

[[noreturn]] void throw_missing(const Weight& missing, const std::set<std::string_view>& known,
                                const CheckpointReader& checkpoint) {
  if (missing.part == Part::lm_head) {
    throw_bad_input(
        fmt::format("{}: no {}, though config.json does not tie the output to the embedding",
                    name_of(checkpoint), missing.name),
        "if this model shares them, set tie_word_embeddings to true in config.json", missing.name);
  }
  throw_bad_input(fmt::format("{}: no {}", name_of(checkpoint), missing.name),
                  hint_for_missing(missing, known, checkpoint), missing.name);
}

using Shape = std::vector<int64_t>;

// How releases store a part of shape `plain` with sizes of one more, which say nothing about where
// an element lies: convolutions of one channel each, Kimi Linear's decays, ERNIE's corrections.
std::optional<Shape> shape_with_ones(Part part, const Shape& plain) {
  switch (part) {
    case Part::state_conv_q:
    case Part::state_conv_k:
    case Part::state_conv_v:
      return Shape{plain[0], 1, plain[1]};
    case Part::state_decay_log:
      return Shape{1, 1, plain[0], 1};
    case Part::router_correction:
      return Shape{1, plain[0]};
    default:
      return std::nullopt;
  }
}

void check_shape(const StoredTensor& tensor, Part part, const Shape& expected,
                 const CheckpointReader& checkpoint) {
  if (tensor.shape == expected || tensor.shape == shape_with_ones(part, expected)) return;
  throw_bad_input(fmt::format("{}: {} is [{}], but {} makes it [{}]", name_of(checkpoint),
                              tensor.name, fmt::join(tensor.shape, ", "), statement_of(checkpoint),
                              fmt::join(expected, ", ")),
                  fmt::format("{} and weights are not of the same model", statement_of(checkpoint)),
                  tensor.name);
}

// A tied checkpoint may carry the head once more; the embedding is what counts.
bool is_spare_head(const ModelSpec& spec, const StoredTensor& tensor,
                   const CheckpointReader& checkpoint) {
  if (!spec.tied_embeddings || tensor.name != spec.names.head) return false;
  check_shape(tensor, Part::lm_head, {spec.vocab, spec.hidden}, checkpoint);
  return true;
}

// Divisors of rotary frequencies, which are part of the spec already.
bool is_rotation(const ModelSpec& spec, std::string_view tensor_name) {
  return spec.names.gguf && tensor_name == "rope_freqs.weight";
}

// Where outputs are no run of the tensor's rows, each has scales of its own in memory; those of
// heads too, which are read together wherever their rows lie.
void bind_codes(const ScaledCodes& codes, Weight& weight) {
  weight.blocks = kept_codes(codes);
  weight.scales = kept_scales(codes);
  if (weight.scales->rows > 1 && (weight.head >= 0 || !weight.follows_rows(weight.scales->rows))) {
    weight.scales->rows = 1;
  }
}

}  // namespace

bool is_of_other_part(const ModelSpec& spec, std::string_view tensor_name) {
  const auto starts = [&](const std::string& part) { return tensor_name.starts_with(part); };
  if (std::any_of(spec.names.other_parts.begin(), spec.names.other_parts.end(), starts))
    return true;
  for (int64_t i = 0; i < spec.draft_layers; ++i) {
    const size_t layer = spec.layers.size() + static_cast<size_t>(i);
    if (starts(fmt::format("{}layers.{}.", spec.names.body, layer))) return true;
  }
  return false;
}

bool is_harmless(std::string_view tensor_name) {
  constexpr std::string_view endings[] = {".rotary_emb.inv_freq", ".attn.masked_bias",
                                          ".self_attn.masked_bias", ".position_ids"};
  for (std::string_view ending : endings) {
    if (tensor_name.ends_with(ending)) return true;
  }
  return false;
}

std::vector<Weight> bind_inventory(const ModelSpec& spec, const CheckpointReader& checkpoint) {
  if (!spec.planned_only.empty()) {
    throw_bad_input(
        fmt::format("{} models are planned only: {}", spec.family, spec.planned_only),
        "`dure inspect` and `dure fit` answer for this model; to run it, use another engine");
  }
  std::vector<Weight> weights = inventory(spec);
  std::set<std::string_view> known;
  for (const Weight& weight : weights) known.insert(weight.name);
  for (Weight& weight : weights) {
    const StoredTensor* tensor = checkpoint.find(weight.name);
    if (tensor == nullptr) throw_missing(weight, known, checkpoint);
    check_shape(*tensor, weight.part, weight.tensor_shape, checkpoint);
    weight.dtype = tensor->dtype;
    weight.blocks = tensor->blocks;
    if (tensor->codes) bind_codes(*tensor->codes, weight);
  }
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (known.contains(tensor.name) || is_harmless(tensor.name) ||
        is_spare_head(spec, tensor, checkpoint) || is_of_other_part(spec, tensor.name) ||
        is_rotation(spec, tensor.name)) {
      continue;
    }
    throw_bad_input(
        fmt::format("{}: holds {:.120}, which a {} model of this config does not have",
                    name_of(checkpoint), tensor.name, spec.family),
        fmt::format("{} and weights are not of the same model", statement_of(checkpoint)),
        tensor.name);
  }
  return weights;
}

}  // namespace dure
