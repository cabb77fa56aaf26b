// Resolves what combines schemas ($ref, allOf, anyOf, oneOf, nullable) into alternatives without
// it.
#pragma once

#include <vector>

#include "grammar/flat_schema.h"
#include "grammar/schema_document.h"

namespace dure::grammar {

class SchemaFlattener {
 public:
  explicit SchemaFlattener(const SchemaDocument& document) : document_(document) {}

  // One of the alternatives has to hold; none: nothing is allowed. Throws bad_input for what cannot
  // be combined, for references that go round without an object or array between, for oneOf whose
  // alternatives are not plainly disjoint, and above a bound on the size of all answers together.
  std::vector<FlatSchema> flatten(const Conjunction& schemas);

 private:
  using Alternatives = std::vector<FlatSchema>;

  Alternatives apply(const Json& schema, Alternatives before);
  Alternatives apply_any_of(const Json& schema, const Json& branches, const Alternatives& before);
  Alternatives apply_one_of(const Json& schema, const Json& branches, const Alternatives& before);
  Alternatives apply_own(const Json& schema, Alternatives before);
  const Json& branches_of(const Json& schema, const char* keyword) const;
  void check_size(const Json& schema, const Alternatives& made) const;

  const SchemaDocument& document_;
  std::vector<const Json*> path_;  // schemas being applied
  size_t size_ = 0;
};

}  // namespace dure::grammar
