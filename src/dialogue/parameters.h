// Arguments that a model writes as plain text, one by one, become a JSON object. What a value means
// is said by the tool's JSON schema: text where a string is expected stays text, anything else is
// read as what the schema allows, and stays text where it is none of that.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dialogue/reading.h"

namespace dure::dialogue {

// The types that a parameter may have.
struct ParameterTypes {
  bool string = false;
  bool integer = false;
  bool number = false;
  bool boolean = false;
  bool object = false;
  bool array = false;
  bool null = false;

  static ParameterTypes any() { return {true, true, true, true, true, true, true}; }
  bool only_string() const {
    return string && !(integer || number || boolean || object || array || null);
  }
};

// From the tool's schema: type (one or a list), enum, const, anyOf, oneOf, allOf, and references
// into the schema itself. A tool or parameter that nobody described may have any.
ParameterTypes types_of(const std::vector<Tool>& tools, std::string_view tool,
                        std::string_view parameter);

// The JSON text of a value; white space around what is not a string does not count.
std::string value_as_json(std::string_view text, const ParameterTypes& types);

// Writes the arguments of the call that was announced last.
class ArgumentsWriter {
 public:
  explicit ArgumentsWriter(AnswerSink& out) : out_(out) {}

  void key(std::string_view name);
  void value(std::string_view json);
  // A string that comes in pieces.
  void open_string() { out_.arguments("\""); }
  void string_text(std::string_view text);
  void close_string() { out_.arguments("\""); }
  void close();

 private:
  AnswerSink& out_;
  bool empty_ = true;
};

// Takes a value up to one of the markers and writes it as types say, strings as they come. The
// number of the marker, or answer_over: a value that is no string and was cut off is left out.
Parsing<int> write_value(Reading& r, ArgumentsWriter& arguments, ParameterTypes types,
                         std::span<const Marker> markers);

}  // namespace dure::dialogue
