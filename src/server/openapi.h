// The document of the API that the server gives out (OpenAPI 3.1,
// https://spec.openapis.org/oas/v3.1.0): paths from the table of routes, bodies as their parsers
// describe themselves, answers from openapi_answers.cc.
#pragma once

#include "base/json.h"
#include "server/served_model.h"

namespace dure {

Json openapi_document(const ServedModel& model);

// components/schemas of answers.
Json answer_schemas();

}  // namespace dure
