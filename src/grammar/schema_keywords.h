// The keywords of one schema object that speak about the value itself, read and checked. Whatever
// would change the meaning and is not understood is refused by its path.
#pragma once

#include "grammar/flat_schema.h"
#include "grammar/schema_document.h"

namespace dure::grammar {

// Leaves alone $ref, allOf, anyOf, oneOf and nullable, which combine schemas.
FlatSchema read_keywords(const SchemaDocument& document, const Json& schema);

// What satisfies both; nothing where no value can. `where` is named in errors about keywords that
// cannot be merged.
std::optional<FlatSchema> merge(const SchemaDocument& document, const Json& where, FlatSchema a,
                                const FlatSchema& b);

}  // namespace dure::grammar
