// In which numbers a plan counts the matrices of a model: as its release names them, or as asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/weight_format.h"
#include "model/inventory.h"
#include "model/spec.h"

namespace dure {

// `name` empty, or that of the release: the formats of the release, called by the smallest. A plain
// type becomes the spec's, and nothing is returned; a block format is returned, to be counted
// beside the spec. Throws bad_input for an unknown name.
std::optional<WeightFormat> retype(ModelSpec& spec, std::string_view name);

// Whether quantized releases store it in their small type; what they keep in its first type is not.
bool is_retyped(const Weight& weight);

// What one weight is counted in; nothing where it stays in its own type.
std::optional<WeightFormat> counted_in(const Weight& weight, const ModelSpec& spec,
                                       const std::optional<WeightFormat>& format);

// What the release states and is not understood, where it matters for this count: a line each.
std::vector<std::string> release_remarks(const ModelSpec& spec,
                                         const std::optional<WeightFormat>& format);

// "int4", "int4 as released".
std::string format_text(const ModelSpec& spec, const std::optional<WeightFormat>& format);

}  // namespace dure
