// Reading JSON into values.
#include <nlohmann/json.hpp>

#include "text/jinja_json.h"

namespace dure::jinja {
namespace {

// Builds values from nlohmann's parser, which hands over the digits of every number it cannot hold.
class Reader : public Json::json_sax_t {
 public:
  Value take() { return std::move(root_); }

  bool null() override { return put(Value()); }
  bool boolean(bool value) override { return put(Value::boolean(value)); }
  bool number_integer(number_integer_t value) override { return put(Value::integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return put(Value::number(BigInt::from_unsigned(value)));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") != std::string::npos) return put(Value::real(value));
    const bool negative = text.starts_with('-');
    const auto digits = BigInt::from_digits(std::string_view(text).substr(negative), 10);
    return digits && put(Value::number(negative ? -*digits : *digits));
  }
  bool string(string_t& value) override { return put(Value::text(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    stack_.back().key = Value::text(std::move(name));
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  struct Open {
    bool is_object;
    Value key;
    std::vector<Value> items;
    std::vector<std::pair<Value, Value>> entries;
  };
  static constexpr size_t max_depth = 128;

  bool open(bool is_object) {
    if (stack_.size() == max_depth) return false;
    stack_.push_back({is_object, {}, {}, {}});
    return true;
  }
  bool close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    return put(done.is_object ? Value::dict(std::move(done.entries))
                              : Value::sequence(std::move(done.items)));
  }
  bool put(Value value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (stack_.back().is_object) {
      stack_.back().entries.emplace_back(std::move(stack_.back().key), std::move(value));
    } else {
      stack_.back().items.push_back(std::move(value));
    }
    return true;
  }

  Value root_;
  std::vector<Open> stack_;
};

}  // namespace

Value from_json(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::integer(json.get<int64_t>());
    case Json::value_t::number_unsigned:
      return Value::number(BigInt::from_unsigned(json.get<uint64_t>()));
    case Json::value_t::number_float:
      return Value::real(json.get<double>());
    case Json::value_t::string:
      return Value::text(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json) items.push_back(from_json(item));
      return Value::sequence(std::move(items));
    }
    case Json::value_t::object: {
      std::vector<std::pair<Value, Value>> entries;
      entries.reserve(json.size());
      for (const auto& [key, item] : json.items()) {
        entries.emplace_back(Value::text(key), from_json(item));
      }
      return Value::dict(std::move(entries));
    }
    default:
      return {};
  }
}

std::optional<Value> parse_json_value(std::string_view text) {
  Reader reader;
  try {
    if (!Json::sax_parse(text, &reader)) return std::nullopt;
  } catch (const JinjaError&) {  // a number of absurd length
    return std::nullopt;
  }
  return reader.take();
}

}  // namespace dure::jinja
