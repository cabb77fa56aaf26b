// The endpoints: what each takes and answers. Dispatch and the served document (openapi.h) both
// read this table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "server/api_errors.h"
#include "server/api_handlers.h"

namespace dure {

struct Route {
  std::string_view method;
  std::string_view path;  // one that ends in '/' takes whatever follows
  Handler* handler;
  bool guarded;  // needs an API key, where there are any
  std::string_view summary;
  std::string_view answer;  // the schema of a 200's JSON, in openapi_answers.cc; empty: plain text
  Json (*describe_body)(const ServedModel&) = nullptr;  // null: it has none
  std::string_view event{};  // the schema of each event, where the answer can be streamed

  bool matches(std::string_view path) const;
};

std::span<const Route> routes();
const Route* find_route(std::string_view method, std::string_view path);

// "GET, HEAD" of the methods that the path takes; empty: there is no such path.
std::string allowed_methods(std::string_view path);

// Why a path that no route takes is refused: OpenAI's other endpoints are told apart from nonsense.
ApiError unknown_path(std::string_view path);

}  // namespace dure
