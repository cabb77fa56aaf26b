// See scaled_codes.h.
#include "model/quantized/scaled_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "tensor/block_format.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

using Codes = ScaledCodes::Codes;
using Number = ScaledCodes::Number;

constexpr int64_t in_word = 8;  // codes of 4 bits

int64_t bytes_of_number(Number type) {
  return type == Number::f32 ? 4 : type == Number::e4m3 || type == Number::e8m0 ? 1 : 2;
}

float number_at(const std::byte* from, Number type) {
  uint32_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(bytes_of_number(type)));
  switch (type) {
    case Number::f32:
      return std::bit_cast<float>(bits);
    case Number::f16:
      return float_from_f16(static_cast<uint16_t>(bits));
    case Number::bf16:
      return float_from_bf16(static_cast<uint16_t>(bits));
    case Number::e4m3:
      return float_from_fp8(static_cast<uint8_t>(bits));
    case Number::e8m0:
      return 2.0f * mxfp4_scale(static_cast<uint8_t>(bits));
  }
  return 0.0f;
}

uint32_t word_at(const std::byte* words, int64_t index) {
  uint32_t word;
  std::memcpy(&word, words + 4 * index, sizeof word);
  return word;
}

int32_t nibble(uint32_t word, int64_t place) {
  return static_cast<int32_t>(word >> (4 * place) & 15u);
}

// Where AWQ's words hold output `index` of eight.
int64_t mixed_place(int64_t index) {
  return index % 2 * 4 + index / 2;
}

// Elements [begin, end) of each of `rows` rows of a table that is `width` elements wide.
std::vector<std::byte> read_table(const CheckpointReader& checkpoint, const StoredTensor& tensor,
                                  Range rows, Range columns, int64_t width, int64_t element) {
  std::vector<std::byte> bytes(static_cast<size_t>(rows.size() * columns.size() * element));
  if (columns.begin == 0 && columns.end == width) {
    checkpoint.read(tensor, rows.begin * width * element, rows.size() * width * element,
                    bytes.data());
    return bytes;
  }
  for (int64_t row = 0; row < rows.size(); ++row) {
    checkpoint.read(tensor, ((rows.begin + row) * width + columns.begin) * element,
                    columns.size() * element, bytes.data() + row * columns.size() * element);
  }
  return bytes;
}

Range in_units(Range range, int64_t unit) {
  return {range.begin / unit, (range.end + unit - 1) / unit};
}

class RectangleReader {
 public:
  RectangleReader(const CheckpointReader& checkpoint, const ScaledCodes& matrix, Range rows,
                  Range columns)
      : checkpoint_(checkpoint), matrix_(matrix), rows_(rows), columns_(columns) {
    group_of_.resize(static_cast<size_t>(columns.size()));
    find_groups();
    const auto [least, most] = std::minmax_element(group_of_.begin(), group_of_.end());
    groups_ = {*least, *most + 1};
    if (*least < 0 || *most >= matrix.groups()) {
      throw_bad_input(fmt::format("{}: an input of group {}, of {}", matrix.group_of_input->name,
                                  *least < 0 ? *least : *most, matrix.groups()),
                      "the file is damaged or was written by a broken tool: download it again",
                      matrix.group_of_input->name);
    }
  }

  void read(float* to) {
    read_scales();
    read_zeros();
    read_codes(to);
    for (int64_t row = 0; row < rows_.size(); ++row) {
      for (int64_t i = 0; i < columns_.size(); ++i) {
        const auto group = static_cast<size_t>(row * groups_.size() +
                                               group_of_[static_cast<size_t>(i)] - groups_.begin);
        float& value = to[row * columns_.size() + i];
        value = (value - zeros_[group]) * scales_[group];
      }
    }
  }

 private:
  void find_groups() {
    if (matrix_.group_of_input) {
      checkpoint_.read(*matrix_.group_of_input, 4 * columns_.begin, 4 * columns_.size(),
                       group_of_.data());
      return;
    }
    for (int64_t i = 0; i < columns_.size(); ++i) {
      const int64_t group =
          matrix_.scale_inputs == 0 ? 0 : (columns_.begin + i) / matrix_.scale_inputs;
      group_of_[static_cast<size_t>(i)] = static_cast<int32_t>(group);
    }
  }

  float read_factor() const {
    if (!matrix_.factor) return 1.0f;
    float factor = 0.0f;
    checkpoint_.read(*matrix_.factor, 0, 4, &factor);
    return factor;
  }

  // [rows, groups], also where several rows share one.
  void read_scales() {
    const int64_t element = bytes_of_number(matrix_.scale_type);
    const float factor = read_factor();
    const int64_t shared = matrix_.scale_rows;
    const Range stored = shared == 0 ? Range{0, 1} : in_units(rows_, shared);
    const std::vector<std::byte> bytes =
        matrix_.scales_are_turned
            ? read_table(checkpoint_, matrix_.scales, groups_, stored, matrix_.outputs, element)
            : read_table(checkpoint_, matrix_.scales, stored, groups_, matrix_.groups(), element);
    scales_.resize(static_cast<size_t>(rows_.size() * groups_.size()));
    for (int64_t row = 0; row < rows_.size(); ++row) {
      const int64_t from = shared == 0 ? 0 : (rows_.begin + row) / shared - stored.begin;
      for (int64_t group = 0; group < groups_.size(); ++group) {
        const int64_t at = matrix_.scales_are_turned ? group * stored.size() + from
                                                     : from * groups_.size() + group;
        const float scale = number_at(bytes.data() + at * element, matrix_.scale_type);
        scales_[static_cast<size_t>(row * groups_.size() + group)] =
            matrix_.factor_divides ? scale / factor : scale * factor;
      }
    }
  }

  void read_zeros() {
    zeros_.assign(static_cast<size_t>(rows_.size() * groups_.size()),
                  static_cast<float>(matrix_.zero));
    if (!matrix_.zeros) return;
    const Range words = in_units(rows_, in_word);
    const bool by_group = matrix_.scales_are_turned;
    const std::vector<std::byte> bytes =
        by_group
            ? read_table(checkpoint_, *matrix_.zeros, groups_, words, matrix_.outputs / in_word, 4)
            : read_table(checkpoint_, *matrix_.zeros, words, groups_, matrix_.groups(), 4);
    for (int64_t row = 0; row < rows_.size(); ++row) {
      const int64_t output = rows_.begin + row;
      const int64_t word = output / in_word - words.begin;
      const int64_t place =
          matrix_.codes == Codes::int4_mixed ? mixed_place(output % in_word) : output % in_word;
      for (int64_t group = 0; group < groups_.size(); ++group) {
        const int64_t at = by_group ? group * words.size() + word : word * groups_.size() + group;
        zeros_[static_cast<size_t>(row * groups_.size() + group)] =
            static_cast<float>(nibble(word_at(bytes.data(), at), place) + matrix_.zero_plus);
      }
    }
  }

  void read_codes(float* to) const {
    switch (matrix_.codes) {
      case Codes::fp8:
        return read_bytes(to, [](uint8_t byte) { return float_from_fp8(byte); });
      case Codes::int8:
        return read_bytes(
            to, [](uint8_t byte) { return static_cast<float>(static_cast<int8_t>(byte)); });
      case Codes::e2m1:
        return read_pairs(to);
      case Codes::int4:
        return read_words(to);
      case Codes::int4_turned:
        return read_turned(to);
      case Codes::int4_mixed:
        return read_mixed(to);
    }
  }

  template <typename Value>
  void read_bytes(float* to, Value value) const {
    const std::vector<std::byte> bytes =
        read_table(checkpoint_, matrix_.tensor, rows_, columns_, matrix_.inputs, 1);
    for (size_t i = 0; i < bytes.size(); ++i) to[i] = value(static_cast<uint8_t>(bytes[i]));
  }

  void read_pairs(float* to) const {
    const Range pairs = in_units(columns_, 2);
    const std::vector<std::byte> bytes =
        read_table(checkpoint_, matrix_.tensor, rows_, pairs, matrix_.inputs / 2, 1);
    each(
        [&](int64_t row, int64_t input) {
          const auto byte = static_cast<uint32_t>(
              bytes[static_cast<size_t>(row * pairs.size() + input / 2 - pairs.begin)]);
          // Levels are twice those of E2M1.
          const int32_t code = nibble(byte, input % 2);
          return 0.5f * static_cast<float>(mxfp4_levels[static_cast<size_t>(code)]);
        },
        to);
  }

  void read_words(float* to) const {
    const Range words = in_units(columns_, in_word);
    const std::vector<std::byte> bytes = read_table(checkpoint_, matrix_.tensor, rows_, words,
                                                    (matrix_.inputs + in_word - 1) / in_word, 4);
    each(
        [&](int64_t row, int64_t input) {
          const uint32_t word =
              word_at(bytes.data(), row * words.size() + input / in_word - words.begin);
          return static_cast<float>(nibble(word, input % in_word));
        },
        to);
  }

  void read_turned(float* to) const {
    const Range words = in_units(columns_, in_word);
    const std::vector<std::byte> bytes =
        read_table(checkpoint_, matrix_.tensor, words, rows_, matrix_.outputs, 4);
    each(
        [&](int64_t row, int64_t input) {
          const uint32_t word =
              word_at(bytes.data(), (input / in_word - words.begin) * rows_.size() + row);
          return static_cast<float>(nibble(word, input % in_word));
        },
        to);
  }

  void read_mixed(float* to) const {
    const Range words = in_units(rows_, in_word);
    const std::vector<std::byte> bytes =
        read_table(checkpoint_, matrix_.tensor, columns_, words, matrix_.outputs / in_word, 4);
    each(
        [&](int64_t row, int64_t input) {
          const int64_t output = rows_.begin + row;
          const uint32_t word = word_at(bytes.data(), (input - columns_.begin) * words.size() +
                                                          output / in_word - words.begin);
          return static_cast<float>(nibble(word, mixed_place(output % in_word)));
        },
        to);
  }

  // value(row of the rectangle, input of the matrix)
  template <typename Value>
  void each(Value value, float* to) const {
    for (int64_t row = 0; row < rows_.size(); ++row) {
      for (int64_t input = columns_.begin; input < columns_.end; ++input) {
        *to++ = value(row, input);
      }
    }
  }

  const CheckpointReader& checkpoint_;
  const ScaledCodes& matrix_;
  Range rows_;
  Range columns_;
  std::vector<int32_t> group_of_;  // of each column
  Range groups_;                   // from the first to the last of these
  std::vector<float> scales_;      // [rows, groups]
  std::vector<float> zeros_;
};

}  // namespace

void read_rectangle(const CheckpointReader& checkpoint, const ScaledCodes& matrix, Range rows,
                    Range columns, float* to) {
  if (rows.size() == 0 || columns.size() == 0) return;
  RectangleReader(checkpoint, matrix, rows, columns).read(to);
}

}  // namespace dure
