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
constexpr int64_t staging_bytes = int64_t{4} << 20;

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
        blocks_(to.rows.blocks_of(to.inputs)),
        row_bytes_(to.rows.row_bytes(to.inputs)),
        tables_(to.memory + to.rows.count * row_bytes_) {}

  void keep(Range outputs, int64_t first) {
    keep_groups();
    if (matrix_.factor) checkpoint_.read(*matrix_.factor, 0, 4, tables_ + layout_.factor);
    const int64_t at_once =
        std::max<int64_t>(1, staging_bytes / (blocks_.size() * size_of(to_.rows.format).values));
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
      const int64_t row = kept.rows == 0 ? 0 : (kept.first_row + first + i) / kept.rows;
      for (int64_t group = 0; group < groups.size(); ++group) {
        const int64_t at =
            turned ? group * stored.size() + from : from * groups.size() + group;
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
            nibble(word_at(zeros.data(), at), place) << (group % 2 * 4));
      }
    }
  }

  void keep_codes(Range outputs, int64_t first) {
    std::byte* const rows = to_.memory + first * row_bytes_;
    switch (matrix_.codes) {
      case Codes::fp8:
      case Codes::int8: {
        const int64_t before = to_.inputs.begin - blocks_.begin * size_of(to_.rows.format).values;
        return read_table({matrix_.tensor, matrix_.inputs, 1}, outputs, to_.inputs, row_bytes_,
                          rows + before);
      }
      case Codes::e2m1:
        return keep_nibbles(outputs, rows, matrix_.inputs / 2);
      case Codes::int4:
        return keep_nibbles(outputs, rows, (matrix_.inputs + in_word - 1) / in_word * 4);
      case Codes::int4_turned:
        return keep_turned(outputs, rows);
      case Codes::int4_mixed:
        return keep_mixed(outputs, rows);
    }
  }

  // Codes of a row one in a byte, whole blocks of them, on their way into halves.
  uint8_t* unpacked_row(int64_t row) {
    return unpacked_.data() + row * blocks_.size() * size_of(to_.rows.format).values;
  }
  void unpack(int64_t rows) {
    unpacked_.assign(
        static_cast<size_t>(rows * blocks_.size() * size_of(to_.rows.format).values), 0);
  }
  void put_unpacked(int64_t count, std::byte* rows) {
    const uint8_t* from = unpacked_.data();
    for (int64_t block = 0; block < count * blocks_.size(); ++block, from += 32, rows += 16) {
      for (int i = 0; i < 16; ++i) rows[i] = static_cast<std::byte>(from[i] | from[16 + i] << 4);
    }
  }
  // Of the first input of the first block.
  int64_t base() const { return blocks_.begin * size_of(to_.rows.format).values; }
  // Input `input` of the matrix is code `code` of the row, if it is wanted.
  void put(int64_t row, int64_t input, uint8_t code) {
    if (input >= to_.inputs.begin && input < to_.inputs.end) {
      unpacked_row(row)[input - base()] = code;
    }
  }

  // Neighbours in one byte, the first in its low half: words of eight are the same.
  void keep_nibbles(Range outputs, std::byte* rows, int64_t width) {
    const Range pairs = in_units(to_.inputs, 2);
    const std::vector<std::byte> bytes =
        read_table({matrix_.tensor, width, 1}, outputs, pairs);
    unpack(outputs.size());
    for (int64_t row = 0; row < outputs.size(); ++row) {
      const std::byte* from = bytes.data() + row * pairs.size();
      uint8_t* const to = unpacked_row(row) + (2 * pairs.begin - base());
      for (int64_t i = 0; i < pairs.size(); ++i) {
        const auto both = static_cast<uint8_t>(from[i]);
        to[2 * i] = both & 15;
        to[2 * i + 1] = both >> 4;
      }
    }
    put_unpacked(outputs.size(), rows);
  }

  void keep_turned(Range outputs, std::byte* rows) {
    const Range words = in_units(to_.inputs, in_word);
    const std::vector<std::byte> read =
        read_table({matrix_.tensor, matrix_.outputs, 4}, words, outputs);
    unpack(outputs.size());
    for (int64_t word = 0; word < words.size(); ++word) {
      for (int64_t row = 0; row < outputs.size(); ++row) {
        const uint32_t codes = word_at(read.data(), word * outputs.size() + row);
        for (int64_t i = 0; i < in_word; ++i) {
          put(row, (words.begin + word) * in_word + i, nibble(codes, i));
        }
      }
    }
    put_unpacked(outputs.size(), rows);
  }

  void keep_mixed(Range outputs, std::byte* rows) {
    const Range words = in_units(outputs, in_word);
    const std::vector<std::byte> read =
        read_table({matrix_.tensor, matrix_.outputs / in_word, 4}, to_.inputs, words);
    unpack(outputs.size());
    for (int64_t input = 0; input < to_.inputs.size(); ++input) {
      for (int64_t row = 0; row < outputs.size(); ++row) {
        const int64_t output = outputs.begin + row;
        const uint32_t codes =
            word_at(read.data(), input * words.size() + output / in_word - words.begin);
        put(row, to_.inputs.begin + input, nibble(codes, mixed_place(output % in_word)));
      }
    }
    put_unpacked(outputs.size(), rows);
  }

  const CheckpointReader& checkpoint_;
  const ScaledCodes& matrix_;
  const KeptRows& to_;
  ScaleLayout layout_;
  Range blocks_;  // that hold the inputs
  int64_t row_bytes_;
  std::byte* tables_;
  std::vector<uint8_t> unpacked_;
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
