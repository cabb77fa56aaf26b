// The strict JSON reader of json.h, as a SAX handler over nlohmann's lexer: depth and duplicate
// keys are refused while reading, so a hostile file costs no more than its own size.
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/text_file.h"

namespace dure {
namespace {

class Builder : public Json::json_sax_t {
 public:
  Builder(std::string_view text, std::string_view what, const JsonLimits& limits)
      : text_(text), what_(what), limits_(limits) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!std::isfinite(value)) {
      throw_bad_input(fmt::format("{}: the number {:.40} is too large for a double", what_, text));
    }
    return put(value);
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Open& top = stack_.back();
    // ordered_json looks keys up linearly, so large objects (a vocabulary) get a hashed set beside
    // it.
    const bool fresh = top.keys.insert(name).second;
    if (!fresh && !limits_.allow_duplicate_keys) {
      throw_bad_input(
          fmt::format("{}: the key \"{:.80}\" appears twice in one object", what_, name),
          "remove one of the two: they may claim different values");
    }
    key_ = std::move(name);
    fresh_key_ = fresh;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const Json::exception& reason) override {
    constexpr int number_overflow = 406;  // nlohmann's id of its out_of_range error
    if (reason.id == number_overflow) {
      throw_bad_input(
          fmt::format("{}: a number near byte {} is too large for a double", what_, position));
    }
    const size_t at = std::min(position, text_.size());
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<long>(at), '\n');
    if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      throw_bad_input(fmt::format("{}: empty where JSON was expected", what_));
    }
    throw_bad_input(
        fmt::format("{}: not valid JSON at line {}, byte {}", what_, line, position),
        "NaN, comments, trailing commas, text after the end and bytes that are not UTF-8 "
        "are not JSON");
  }

 private:
  struct Open {
    Json value;
    std::string key;  // under which `value` goes into its parent
    bool fresh = true;
    std::unordered_set<std::string> keys;
  };

  bool open(Json value) {
    if (static_cast<int>(stack_.size()) >= limits_.max_depth) {
      throw_bad_input(fmt::format("{}: nested deeper than {} levels", what_, limits_.max_depth));
    }
    stack_.push_back({std::move(value), std::move(key_), fresh_key_, {}});
    return true;
  }

  bool close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    key_ = std::move(done.key);
    fresh_key_ = done.fresh;
    return put(std::move(done.value));
  }

  bool put(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (Json& parent = stack_.back().value; parent.is_array()) {
      parent.push_back(std::move(value));
    } else if (fresh_key_) {
      auto& object = parent.get_ref<Json::object_t&>();
      object.std::vector<Json::object_t::value_type>::emplace_back(std::move(key_),
                                                                   std::move(value));
    } else {
      parent[key_] = std::move(value);
    }
    return true;
  }

  std::string_view text_;
  std::string_view what_;
  JsonLimits limits_;
  Json root_;
  std::vector<Open> stack_;
  std::string key_;
  bool fresh_key_ = true;
};

// Outside of strings, each Infinity becomes a number of as many characters, so that the places
// which errors name stay right.
std::string with_finite_numbers(std::string_view text) {
  constexpr std::string_view infinity = "Infinity";
  constexpr std::string_view largest = "1.00e308";
  static_assert(infinity.size() == largest.size());
  std::string finite(text);
  bool in_string = false;
  for (size_t i = 0; i < finite.size(); ++i) {
    if (in_string && finite[i] == '\\') {
      ++i;
    } else if (finite[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && std::string_view(finite).substr(i).starts_with(infinity)) {
      finite.replace(i, infinity.size(), largest);
    }
  }
  return finite;
}

}  // namespace

Json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string finite;
  if (limits.allow_infinity && text.find("Infinity") != std::string_view::npos) {
    finite = with_finite_numbers(text);
    text = finite;
  }
  Builder builder(text, what, limits);
  // The lexer takes a zero byte for the end and would not see what follows.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw_bad_input(fmt::format("{}: a zero byte at byte {}", what, zero + 1),
                    "JSON is text; inside a string, write \\u0000");
  }
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json read_json_file(const std::filesystem::path& path, size_t max_bytes, const JsonLimits& limits) {
  return parse_json(read_text_file(path, max_bytes), path.string(), limits);
}

}  // namespace dure
