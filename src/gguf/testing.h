// Makes GGUF files by hand, wrong ones too.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dure::testing {

// Little-endian bytes of a number.
template <typename Number>
std::string raw(Number value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline std::string raw_text(std::string_view text) {
  return raw<uint64_t>(text.size()) + std::string(text);
}

class GgufBytes {
 public:
  // `kind` is the format's number: 4 uint32, 5 int32, 6 float32, 7 bool, 8 text, 9 list, 10 uint64.
  GgufBytes& value(std::string_view key, uint32_t kind, const std::string& bytes) {
    values_ += raw_text(key) + raw(kind) + bytes;
    ++value_count_;
    return *this;
  }
  GgufBytes& u32(std::string_view key, uint32_t number) { return value(key, 4, raw(number)); }
  GgufBytes& f32(std::string_view key, float number) { return value(key, 6, raw(number)); }
  GgufBytes& boolean(std::string_view key, bool set) {
    return value(key, 7, raw(static_cast<uint8_t>(set)));
  }
  GgufBytes& text(std::string_view key, std::string_view text) {
    return value(key, 8, raw_text(text));
  }
  GgufBytes& texts(std::string_view key, const std::vector<std::string>& texts) {
    std::string bytes = raw<uint32_t>(8) + raw<uint64_t>(texts.size());
    for (const std::string& each : texts) bytes += raw_text(each);
    return value(key, 9, bytes);
  }
  template <typename Number>
  GgufBytes& numbers(std::string_view key, uint32_t kind, const std::vector<Number>& numbers) {
    std::string bytes = raw(kind) + raw<uint64_t>(numbers.size());
    for (Number each : numbers) bytes += raw(each);
    return value(key, 9, bytes);
  }

  // Dimensions as in the file, innermost first. Data of `bytes` zeros.
  GgufBytes& tensor(std::string_view name, const std::vector<uint64_t>& dimensions, uint32_t type,
                    uint64_t bytes) {
    return tensor_at(name, dimensions, type, data_.size(), std::string(bytes, '\0'));
  }
  GgufBytes& tensor_at(std::string_view name, const std::vector<uint64_t>& dimensions,
                       uint32_t type, uint64_t offset, const std::string& data) {
    tensors_ += raw_text(name) + raw(static_cast<uint32_t>(dimensions.size()));
    for (uint64_t size : dimensions) tensors_ += raw(size);
    tensors_ += raw(type) + raw(offset);
    ++tensor_count_;
    data_ += data;
    data_.resize((data_.size() + 31) / 32 * 32, '\0');
    return *this;
  }

  std::string file(uint32_t version = 3) const {
    std::string bytes = "GGUF" + raw(version) + raw(tensor_count_) + raw(value_count_);
    bytes += values_ + tensors_;
    bytes.resize((bytes.size() + 31) / 32 * 32, '\0');
    return bytes + data_;
  }

 private:
  std::string values_, tensors_, data_;
  uint64_t value_count_ = 0;
  uint64_t tensor_count_ = 0;
};

}  // namespace dure::testing
