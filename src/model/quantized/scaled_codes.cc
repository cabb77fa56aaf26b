// See scaled_codes.h.
#include "model/quantized/scaled_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace dure {
namespace {

using Codes = ScaledCodes::Codes;

constexpr int64_t in_word = 8;  // codes of 4 bits
constexpr int64_t staging_bytes = int64_t{1} << 20;

uint32_t word_at(const std::byte* words, int64_t index) {
  uint32_t word;
  std::memcpy(&word, words + 4 * index, sizeof word);
  return word;
}

uint8_t nibble(uint32_t word, int64_t place) {
  return static_cast<uint8_t>(word >> (4 * place) & 15u);
}

// Where AWQ's words hold output `index` of eight.
int64_t mixed_place(int64_t index) {
  return index % 2 * 4 + index / 2;
}

// A table that lies row after row in the file.
struct Table {
  const StoredTensor& tensor;
  int64_t width = 0;  // elements of a row
  int64_t element_bytes = 1;
};

class RowKeeper {
 public:
  RowKeeper(const CheckpointReader& checkpoint, const ScaledCodes& matrix, const KeptRows& to)
      : checkpoint_(checkpoint),
        matrix_(matrix),
        to_(to),
        layout_(to.rows.scales_of(to.inputs)),
        base_(to.rows.blocks_of(to.inputs).begin * size_of(to.rows.format).values),
        width_(to.rows.blocks_of(to.inputs).size() * size_of(to.rows.format).values),
        tables_(to.memory + to.rows.code_bytes(to.inputs)) {}

  void keep(Range outputs, int64_t first) {
    keep_groups();
    if (matrix_.factor) checkpoint_.read(*matrix_.factor, 0, 4, tables_ + layout_.factor);
    // Whole strips, unless rows are read one by one.
    const int64_t at_once =
        std::max<int64_t>(1, staging_bytes / (width_ * strip_outputs)) * strip_outputs;
    for (int64_t done = 0; done < outputs.size(); done += at_once) {
      const int64_t begin = outputs.begin + done;
      const Range some = {begin, std::min(begin + at_once, outputs.end)};
      keep_codes(some, first + done);
      keep_scales(some, first + done);
      keep_zeros(some, first + done);
    }
  }

 private:
  // Of rows [rows) their elements [columns), each row `stride` bytes after the one before.
  void read_table(const Table& table, Range rows, Range columns, int64_t stride,
                  std::byte* to) const {
    const int64_t element = table.element_bytes;
    const int64_t bytes = columns.size() * element;
    if (bytes == table.width * element && stride == bytes) {
      checkpoint_.read(table.tensor, rows.begin * bytes, rows.size() * bytes, to);
      return;
    }
    for (int64_t row = 0; row < rows.size(); ++row) {
      checkpoint_.read(table.tensor, ((rows.begin + row) * table.width + columns.begin) * element,
                       bytes, to + row * stride);
    }
  }
  std::vector<std::byte> read_table(const Table& table, Range rows, Range columns) const {
    const int64_t bytes = columns.size() * table.element_bytes;
    std::vector<std::byte> read(static_cast<size_t>(rows.size() * bytes));
    read_table(table, rows, columns, bytes, read.data());
    return read;
  }

  void keep_groups() const {
    if (!matrix_.group_of_input) return;
    std::vector<int32_t> groups(static_cast<size_t>(to_.inputs.size()));
    checkpoint_.read(*matrix_.group_of_input, 4 * to_.inputs.begin, 4 * to_.inputs.size(),
                     groups.data());
    for (const int32_t group : groups) {
      if (group >= 0 && group < matrix_.groups()) continue;
      throw_bad_input(fmt::format("{}: an input of group {}, of {}", matrix_.group_of_input->name,
                                  group, matrix_.groups()),
                      "the file is damaged or was written by a broken tool: download it again",
                      matrix_.group_of_input->name);
    }
    std::memcpy(tables_ + layout_.listed, groups.data(), groups.size() * sizeof(int32_t));
  }

  void keep_scales(Range outputs, int64_t first) const {
    const int64_t element = layout_.scale_bytes;
    const Range groups = layout_.groups;
    const int64_t shared = matrix_.scale_rows;
    const Range stored = shared == 0 ? Range{0, 1} : in_units(outputs, shared);
    const bool turned = matrix_.scales_are_turned;
    const Table table = {matrix_.scales, turned ? matrix_.outputs : matrix_.groups(), element};
    const std::vector<std::byte> scales =
        turned ? read_table(table, groups, stored) : read_table(table, stored, groups);
    const RowScales& kept = *to_.rows.scales;
    for (int64_t i = 0; i < outputs.size(); ++i) {
      const int64_t from = shared == 0 ? 0 : (outputs.begin + i) / shared - stored.begin;
      const int64_t row = kept.row_of(first + i);
      for (int64_t group = 0; group < groups.size(); ++group) {
        const int64_t at = turned ? group * stored.size() + from : from * groups.size() + group;
        std::memcpy(tables_ + layout_.scale_at(row, groups.begin + group),
                    scales.data() + at * element, static_cast<size_t>(element));
      }
    }
  }

  void keep_zeros(Range outputs, int64_t first) const {
    if (!matrix_.zeros) return;
    const Range words = in_units(outputs, in_word);
    const Range groups = layout_.groups;
    const bool by_group = matrix_.scales_are_turned;
    const Table table = {*matrix_.zeros, by_group ? matrix_.outputs / in_word : matrix_.groups(),
                         4};
    const std::vector<std::byte> zeros =
        by_group ? read_table(table, groups, words) : read_table(table, words, groups);
    for (int64_t i = 0; i < outputs.size(); ++i) {
      const int64_t output = outputs.begin + i;
      const int64_t word = output / in_word - words.begin;
      const int64_t place =
          matrix_.codes == Codes::int4_mixed ? mixed_place(output % in_word) : output % in_word;
      for (int64_t group = 0; group < groups.size(); ++group) {
        const int64_t at = by_group ? group * words.size() + word : word * groups.size() + group;
        tables_[layout_.zero_at(first + i, groups.begin + group)] |= static_cast<std::byte>(
            nibble(word_at(zeros.data(), at), place) << ((first + i) % 2 * 4));
      }
    }
  }

  void keep_codes(Range outputs, int64_t first) {
    codes_.assign(static_cast<size_t>(outputs.size() * width_), 0);
    switch (matrix_.codes) {
      case Codes::fp8:
      case Codes::int8:
        read_table({matrix_.tensor, matrix_.inputs, 1}, outputs, to_.inputs, width_,
                   reinterpret_cast<std::byte*>(codes_.data()) + (to_.inputs.begin - base_));
        return put_bytes(outputs.size(), first);
      case Codes::e2m1:
        unpack_pairs(outputs, matrix_.inputs / 2);
        break;
      case Codes::int4:
        unpack_pairs(outputs, (matrix_.inputs + in_word - 1) / in_word * 4);
        break;
      case Codes::int4_turned:
        unpack_turned(outputs);
        break;
      case Codes::int4_mixed:
        unpack_mixed(outputs);
        break;
    }
    put_halves(outputs.size(), first);
  }

  // Input `input` of the matrix, if it is wanted.
  void unpack(int64_t row, int64_t input, uint8_t code) {
    if (input >= to_.inputs.begin && input < to_.inputs.end) {
      codes_[static_cast<size_t>(row * width_ + input - base_)] = code;
    }
  }

  // Neighbours in one byte, the first in its low half: words of eight are the same.
  void unpack_pairs(Range outputs, int64_t row_bytes) {
    const Range pairs = in_units(to_.inputs, 2);
    const std::vector<std::byte> bytes = read_table({matrix_.tensor, row_bytes, 1}, outputs, pairs);
    for (int64_t row = 0; row < outputs.size(); ++row) {
      const std::byte* from = bytes.data() + row * pairs.size();
      uint8_t* const to = codes_.data() + row * width_ + (2 * pairs.begin - base_);
      for (int64_t i = 0; i < pairs.size(); ++i) {
        const auto both = static_cast<uint8_t>(from[i]);
        to[2 * i] = both & 15;
        to[2 * i + 1] = both >> 4;
      }
    }
  }

  void unpack_turned(Range outputs) {
    const Range words = in_units(to_.inputs, in_word);
    const std::vector<std::byte> read =
        read_table({matrix_.tensor, matrix_.outputs, 4}, words, outputs);
    for (int64_t row = 0; row < outputs.size(); ++row) {
      for (int64_t word = 0; word < words.size(); ++word) {
        const uint32_t codes = word_at(read.data(), word * outputs.size() + row);
        for (int64_t i = 0; i < in_word; ++i) {
          unpack(row, (words.begin + word) * in_word + i, nibble(codes, i));
        }
      }
    }
  }

  void unpack_mixed(Range outputs) {
    const Range words = in_units(outputs, in_word);
    const std::vector<std::byte> read =
        read_table({matrix_.tensor, matrix_.outputs / in_word, 4}, to_.inputs, words);
    for (int64_t row = 0; row < outputs.size(); ++row) {
      const int64_t output = outputs.begin + row;
      for (int64_t input = 0; input < to_.inputs.size(); ++input) {
        const uint32_t codes =
            word_at(read.data(), input * words.size() + output / in_word - words.begin);
        unpack(row, to_.inputs.begin + input, nibble(codes, mixed_place(output % in_word)));
      }
    }
  }

  // Rows of codes to their places in strips, some steps of all rows at a time: what is written lies
  // near.
  template <typename Put>
  void put_rows(int64_t rows, int64_t first, int64_t unit_inputs, const Put& put) {
    constexpr int64_t units_at_once = 32;
    const int64_t units = width_ / unit_inputs;
    for (int64_t row = 0; row < rows;) {
      const int64_t column = (first + row) % strip_outputs;
      const int64_t count = std::min(strip_outputs - column, rows - row);
      std::byte* const strip =
          to_.memory + (first + row) / strip_outputs * to_.rows.strip_bytes(to_.inputs);
      for (int64_t unit = 0; unit < units; unit += units_at_once) {
        const int64_t end = std::min(unit + units_at_once, units);
        for (int64_t i = 0; i < count; ++i) {
          const uint8_t* const from = codes_.data() + (row + i) * width_;
          auto* const to = reinterpret_cast<uint8_t*>(strip) + 2 * (column + i);
          for (int64_t u = unit; u < end; ++u) put(from + u * unit_inputs, to + u * step_numbers);
        }
      }
      row += count;
    }
  }
  void put_bytes(int64_t rows, int64_t first) {
    put_rows(rows, first, 2, [](const uint8_t* from, uint8_t* to) { std::memcpy(to, from, 2); });
  }
  void put_halves(int64_t rows, int64_t first) {
    put_rows(rows, first, 4, [](const uint8_t* from, uint8_t* to) {
      to[0] = static_cast<uint8_t>(from[0] | from[2] << 4);
      to[1] = static_cast<uint8_t>(from[1] | from[3] << 4);
    });
  }

  const CheckpointReader& checkpoint_;
  const ScaledCodes& matrix_;
  const KeptRows& to_;
  ScaleLayout layout_;
  int64_t base_;   // the first input of the blocks
  int64_t width_;  // inputs of these
  std::byte* tables_;
  std::vector<uint8_t> codes_;  // of the rows in hand, one in a byte: [rows][width]
};

}  // namespace

int64_t stored_bytes(const ScaledCodes& matrix) {
  int64_t bytes = matrix.tensor.bytes + matrix.scales.bytes;
  for (const auto* each : {&matrix.factor, &matrix.zeros, &matrix.group_of_input}) {
    if (*each) bytes += (*each)->bytes;
  }
  return bytes;
}

BlockFormat kept_codes(const ScaledCodes& matrix) {
  switch (matrix.codes) {
    case Codes::fp8:
      return BlockFormat::fp8;
    case Codes::int8:
      return BlockFormat::int8;
    case Codes::e2m1:
      return BlockFormat::fp4;
    default:
      return BlockFormat::int4;
  }
}

RowScales kept_scales(const ScaledCodes& matrix) {
  RowScales scales;
  scales.type = matrix.scale_type;
  scales.rows = matrix.scale_rows;
  scales.inputs = matrix.scale_inputs;
  scales.listed_groups = matrix.group_of_input ? matrix.groups() : 0;
  scales.factor = matrix.factor.has_value();
  scales.factor_divides = matrix.factor_divides;
  scales.zeros = matrix.zeros.has_value();
  scales.zero = matrix.zeros ? matrix.zero_plus : matrix.zero;
  return scales;
}

void keep_rows(const CheckpointReader& checkpoint, const ScaledCodes& matrix, Range outputs,
               int64_t first, const KeptRows& to) {
  if (outputs.size() == 0 || to.inputs.size() == 0) return;
  RowKeeper(checkpoint, matrix, to).keep(outputs, first);
}

void read_rectangle(const CheckpointReader& checkpoint, const ScaledCodes& matrix, Range rows,
                    Range columns, float* to) {
  if (rows.size() == 0 || columns.size() == 0) return;
  BlockRows kept = {rows.size(), kept_codes(matrix), kept_scales(matrix)};
  if (matrix.scale_rows > 1) kept.scales->first_row = rows.begin % matrix.scale_rows;
  std::vector<std::byte> memory(static_cast<size_t>(kept.bytes(columns)));
  keep_rows(checkpoint, matrix, rows, 0, {kept, columns, memory.data()});
  for (int64_t row = 0; row < rows.size(); ++row) {
    kept.decode(memory.data(), columns, row, to + row * columns.size());
  }
}

}  // namespace dure
