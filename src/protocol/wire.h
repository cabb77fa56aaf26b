// Bytes of a protocol message: little-endian numbers, counted strings and vectors. A message lists
// its fields once (`visit_fields`), and Writer and Reader both walk that list, so that the two
// sides cannot drift apart. The Reader trusts nothing: counts are checked against the bytes left
// before anything is allocated.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace dure {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

template <typename T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

class Writer {
 public:
  std::string take() { return std::move(bytes_); }

  template <Number T>
  void operator()(const char*, const T& value) {
    raw(&value, sizeof value);
  }
  void operator()(const char* field, const std::string& text) {
    count(field, text.size());
    raw(text.data(), text.size());
  }
  template <typename T>
  void operator()(const char* field, const std::vector<T>& items) {
    count(field, items.size());
    if constexpr (Number<T>) {
      raw(items.data(), items.size() * sizeof(T));
    } else {
      for (const T& item : items) visit_fields(*this, item);
    }
  }
  template <typename T>
  void operator()(const char*, const std::optional<T>& item) {
    bytes_.push_back(item ? 1 : 0);
    if (item) visit_fields(*this, *item);
  }
  // An enumeration whose values are 0 .. last; one byte.
  template <typename E>
  void choice(const char*, const E& value, E) {
    bytes_.push_back(static_cast<char>(value));
  }
  void constant(const char*, uint32_t value) { raw(&value, sizeof value); }

 private:
  void raw(const void* data, size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(data), size);
  }
  void count(const char* field, size_t n);

  std::string bytes_;
};

class Reader {
 public:
  // `message` names what is read in errors.
  Reader(const char* message, std::span<const std::byte> bytes)
      : message_(message), bytes_(bytes) {}

  template <Number T>
  void operator()(const char* field, T& value) {
    need(field, sizeof value);
    raw(&value, sizeof value);
  }
  void operator()(const char* field, std::string& text) {
    text.resize(count(field, 1));
    raw(text.data(), text.size());
  }
  template <typename T>
  void operator()(const char* field, std::vector<T>& items) {
    items.clear();
    if constexpr (Number<T>) {
      items.resize(count(field, sizeof(T)));
      raw(items.data(), items.size() * sizeof(T));
    } else {
      // Every item takes at least a byte, and the vector grows only as items are really there.
      for (size_t left = count(field, 1); left > 0; --left)
        visit_fields(*this, items.emplace_back());
    }
  }
  template <typename T>
  void operator()(const char* field, std::optional<T>& item) {
    item.reset();
    if (byte_up_to(field, 1) == 1) visit_fields(*this, item.emplace());
  }
  template <typename E>
  void choice(const char* field, E& value, E last) {
    value = static_cast<E>(byte_up_to(field, static_cast<uint8_t>(last)));
  }
  void constant(const char* field, uint32_t expected);

  void expect_end() const;  // throws when bytes are left

 private:
  void need(const char* field, size_t size) const;
  size_t count(const char* field, size_t item_bytes);
  uint8_t byte_up_to(const char* field, uint8_t last);
  void raw(void* to, size_t size) {
    if (size > 0) std::memcpy(to, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }

  const char* message_;
  std::span<const std::byte> bytes_;
};

}  // namespace dure
