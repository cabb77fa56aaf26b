// A JSON schema as it came: its references and the places of its parts, for messages.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "grammar/flat_schema.h"

namespace dure::grammar {

class SchemaDocument {
 public:
  explicit SchemaDocument(const Json& root) : root_(root) {}

  const Json& root() const { return root_; }

  // What the $ref of `schema` names: "#" or a JSON pointer behind it. Throws bad_input.
  const Json* target(const Json& schema) const;

  // A schema that only refers to another one means the other one.
  const Json* resolved(const Json* schema) const;

  // Throws bad_input: "json_schema: at /properties/a: <problem>", with the keyword's path as field.
  [[noreturn]] void refuse(const Json& schema, std::string_view keyword, std::string_view problem,
                           std::string_view hint = "") const;

 private:
  std::string path_of(const Json& part) const;

  const Json& root_;
};

// Keywords that say nothing about which values are allowed.
bool is_annotation(std::string_view keyword);

}  // namespace dure::grammar
