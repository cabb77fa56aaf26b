// See read_slice.h.
#include "engine/read_slice.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "model/quantized/scaled_codes.h"

namespace dure {
namespace {

constexpr int64_t staging_bytes = int64_t{2} << 20;

class SliceReader {
 public:
  SliceReader(const CheckpointReader& checkpoint, const ResidentPiece& piece, ReadBuffers& buffers)
      : checkpoint_(checkpoint),
        tensor_(*checkpoint.find(piece.weight->name)),
        view_(piece.weight->view),
        inputs_(piece.slice.inputs),
        element_(bytes_of(tensor_.dtype)),  // also of numbers that come from blocks
        buffers_(buffers) {}

  // Outputs [first, first + rows) of the weight, as rows.
  const std::byte* read(int64_t first, int64_t rows) {
    buffers_.rows.resize(static_cast<size_t>(rows * inputs_.size() * element_));
    if (view_.column_stride == 1) {
      read_rows(first, rows);
    } else {
      read_columns(first, rows);
    }
    return buffers_.rows.data();
  }

 private:
  void read_elements(int64_t at, int64_t count, std::byte* to) const {
    if (tensor_.blocks) return decode_elements(*tensor_.blocks, at, count, to);
    if (tensor_.codes) return read_codes(at, count, to);
    checkpoint_.read(tensor_, at * element_, count * element_, to);
  }

  // Of whole rows where there are several.
  void read_codes(int64_t at, int64_t count, std::byte* to) const {
    const int64_t width = tensor_.codes->inputs;
    const Range rows = {at / width, (at + count + width - 1) / width};
    const bool in_one_row = rows.size() == 1;
    const Range columns = in_one_row ? Range{at % width, at % width + count} : Range{0, width};
    buffers_.values.resize(static_cast<size_t>(rows.size() * columns.size()));
    read_rectangle(checkpoint_, *tensor_.codes, rows, columns, buffers_.values.data());
    const int64_t first = in_one_row ? 0 : at - rows.begin * width;
    std::memcpy(to, buffers_.values.data() + first, static_cast<size_t>(count) * sizeof(float));
  }

  // Whole blocks are read and decoded, and of the outermost only what was asked for is kept.
  void decode_elements(BlockFormat format, int64_t at, int64_t count, std::byte* to) const {
    const BlockSize size = size_of(format);
    const int64_t first = at / size.values;
    const int64_t blocks = (at + count + size.values - 1) / size.values - first;
    buffers_.blocks.resize(static_cast<size_t>(blocks * size.bytes));
    buffers_.values.resize(static_cast<size_t>(blocks * size.values));
    checkpoint_.read(tensor_, first * size.bytes, blocks * size.bytes, buffers_.blocks.data());
    decode_blocks(format, buffers_.blocks.data(), blocks, buffers_.values.data());
    std::memcpy(to, buffers_.values.data() + (at - first * size.values),
                static_cast<size_t>(count) * sizeof(float));
  }

  // Inputs of an output lie together; outputs that follow each other are one read.
  void read_rows(int64_t first, int64_t rows) {
    const int64_t width = inputs_.size();
    std::byte* to = buffers_.rows.data();
    if (tensor_.codes) return read_code_rows(first, rows);
    for (int64_t row = 0; row < rows;) {
      const int64_t at = view_.row(first + row) + inputs_.begin;
      int64_t run = 1;
      while (row + run < rows && view_.row(first + row + run) + inputs_.begin == at + run * width) {
        ++run;
      }
      read_elements(at, run * width, to);
      to += run * width * element_;
      row += run;
    }
  }

  // Rows of the tensor that follow each other are one rectangle.
  void read_code_rows(int64_t first, int64_t rows) {
    const int64_t stored = tensor_.codes->inputs;
    auto* to = reinterpret_cast<float*>(buffers_.rows.data());
    for (int64_t row = 0; row < rows;) {
      const int64_t at = view_.row(first + row);
      int64_t run = 1;
      while (row + run < rows && view_.row(first + row + run) == at + run * stored) ++run;
      const int64_t begin = at % stored + inputs_.begin;
      read_rectangle(checkpoint_, *tensor_.codes, {at / stored, at / stored + run},
                     {begin, begin + inputs_.size()}, to);
      to += run * inputs_.size();
      row += run;
    }
  }

  // Outputs of an input lie together (a transposed matrix): turned around on the way. Where the
  // outputs wanted are most of what lies there, several inputs are one read.
  void read_columns(int64_t first, int64_t rows) {
    DURE_CHECK(view_.block_rows == 0);
    const int64_t span = (rows - 1) * view_.row_stride + 1;
    const int64_t stride = view_.column_stride;
    const int64_t fitting = staging_bytes / (stride * element_);
    const int64_t at_once =
        2 * span >= stride ? std::clamp<int64_t>(fitting, 1, inputs_.size()) : 1;
    buffers_.strip.resize(static_cast<size_t>(((at_once - 1) * stride + span) * element_));
    for (int64_t input = 0; input < inputs_.size(); input += at_once) {
      const int64_t count = std::min(at_once, inputs_.size() - input);
      read_elements(view_.row(first) + (inputs_.begin + input) * stride,
                    (count - 1) * stride + span, buffers_.strip.data());
      for (int64_t i = 0; i < count; ++i) {
        const std::byte* from = buffers_.strip.data() + i * stride * element_;
        std::byte* to = buffers_.rows.data() + (input + i) * element_;
        for (int64_t row = 0; row < rows; ++row) {
          std::memcpy(to + row * inputs_.size() * element_,
                      from + row * view_.row_stride * element_, static_cast<size_t>(element_));
        }
      }
    }
  }

  const CheckpointReader& checkpoint_;
  const StoredTensor& tensor_;
  WeightView view_;
  Range inputs_;
  int64_t element_;
  ReadBuffers& buffers_;
};

}  // namespace

void read_stored_rows(const CheckpointReader& checkpoint, const ResidentPiece& piece,
                      const BlockRows& rows, std::byte* to, std::atomic<int64_t>* bytes_read) {
  constexpr int64_t most_at_once = int64_t{32} << 20;
  const Weight& weight = *piece.weight;
  const StoredTensor& tensor = *checkpoint.find(weight.name);
  const Range& inputs = piece.slice.inputs;
  const Range& outputs = piece.slice.outputs;
  const int64_t row_bytes = rows.row_bytes(inputs);
  if (row_bytes == 0) return;
  const BlockSize size = size_of(rows.format);
  const int64_t width = weight.tensor_shape.back();
  // Elements from a row to the next where both are one read: of codes also of parts of rows.
  const int64_t apart = tensor.codes ? width : rows.blocks_of(inputs).size() * size.values;
  for (int64_t output = outputs.begin; output < outputs.end;) {
    // Rows that follow each other are one read.
    const int64_t at = weight.view.row(output);
    int64_t run = 1;
    while (output + run < outputs.end && (run + 1) * row_bytes <= most_at_once &&
           weight.view.row(output + run) == at + run * apart) {
      ++run;
    }
    if (tensor.codes) {
      keep_rows(checkpoint, *tensor.codes, {at / width, at / width + run}, output - outputs.begin,
                {rows, inputs, to});
    } else {
      const int64_t first = at / size.values + rows.blocks_of(inputs).begin;
      checkpoint.read(tensor, first * size.bytes, run * row_bytes,
                      to + (output - outputs.begin) * row_bytes);
    }
    output += run;
    *bytes_read += run * weight.bytes_of_elements(inputs.size());
  }
}

void read_slice(const CheckpointReader& checkpoint, const ResidentPiece& piece,
                ReadBuffers& buffers,
                const std::function<void(int64_t, int64_t, const std::byte*)>& use,
                std::atomic<int64_t>* bytes_read) {
  DURE_CHECK(checkpoint.find(piece.weight->name) != nullptr);  // bind_inventory has checked
  const int64_t row_bytes = piece.slice.inputs.size() * bytes_of(piece.weight->dtype);
  const int64_t stored_bytes = piece.weight->bytes_of_elements(piece.slice.inputs.size());
  if (row_bytes == 0) return;
  SliceReader reader(checkpoint, piece, buffers);
  const int64_t rows_at_once = std::max<int64_t>(1, staging_bytes / row_bytes);
  for (int64_t first = 0; first < piece.slice.outputs.size(); first += rows_at_once) {
    const int64_t rows = std::min(rows_at_once, piece.slice.outputs.size() - first);
    use(first, rows, reader.read(piece.slice.outputs.begin + first, rows));
    *bytes_read += rows * stored_bytes;
  }
}

}  // namespace dure
