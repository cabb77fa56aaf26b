// See openapi.h.
#include "server/openapi.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/api_routes.h"

namespace dure {
namespace {

Json schema_reference(std::string_view name) {
  return {{"$ref", fmt::format("#/components/schemas/{}", name)}};
}

Json content(std::string_view type, Json schema) {
  return {{std::string(type), {{"schema", std::move(schema)}}}};
}

Json response_headers(bool retry) {
  Json headers = {{"X-Request-Id",
                   {{"description", "The client's, or one of the server's own."},
                    {"schema", {{"type", "string"}}}}}};
  if (retry) {
    headers["Retry-After"] = {{"description", "Seconds."},
                              {"schema", {{"type", "integer"}, {"minimum", 1}}}};
  }
  return headers;
}

Json success(const Route& route) {
  Json kinds = route.answer.empty() ? content("text/plain", {{"type", "string"}})
                                    : content("application/json", schema_reference(route.answer));
  if (!route.event.empty()) {
    // The schema is of each event, as OpenAPI 3.2 has it.
    const std::string data =
        fmt::format("A {}, an Error that ends the stream, or [DONE].", route.event);
    kinds["text/event-stream"] = {
        {"schema",
         {{"type", "object"},
          {"description", "Where stream is true."},
          {"required", {"data"}},
          {"properties", {{"data", {{"type", "string"}, {"description", data}}}}}}}};
  }
  return {{"description", "Done."},
          {"headers", response_headers(false)},
          {"content", std::move(kinds)}};
}

struct Refusal {
  int status;
  const char* why;
};

Json refusals(const Route& route) {
  std::vector<Refusal> list = {{400, "The request is wrong; `param` names the field."},
                               {408, "The request took too long to come."},
                               {413, "The body is too large."},
                               {414, "The target is too long."},
                               {415, "The body is compressed."},
                               {417, "An Expect that is not 100-continue."},
                               {431, "The head is too large."},
                               {500, "A bug, or a broken checkpoint."},
                               {503, "Starting, restarting, stopping, or out of room."},
                               {505, "Not HTTP/1.1 or 1.0."}};
  if (route.guarded) list.push_back({401, "The API key is missing or wrong."});
  if (route.guarded) list.push_back({404, "There is no such model."});
  if (route.describe_body != nullptr) list.push_back({429, "Too many requests are waiting."});
  Json responses = Json::object();
  for (const Refusal& refusal : list) {
    responses[std::to_string(refusal.status)] = {
        {"description", refusal.why},
        {"headers", response_headers(refusal.status == 429 || refusal.status == 503)},
        {"content", content("application/json", schema_reference("Error"))}};
  }
  return responses;
}

std::string operation_id(const Route& route) {
  std::string id(route.method);
  for (const char letter : route.path) id += letter == '/' || letter == '.' ? '_' : letter;
  while (id.ends_with('_')) id.pop_back();
  return id + (route.path.ends_with('/') ? "_one" : "");
}

Json operation_of(const Route& route, const ServedModel& model) {
  Json operation = {{"operationId", operation_id(route)}, {"summary", route.summary}};
  if (route.guarded)
    operation["security"] = Json::array({Json{{"key", Json::array()}}, Json::object()});
  if (route.path.ends_with('/')) {
    operation["parameters"] =
        Json::array({Json{{"name", "name"},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}, {"minLength", 1}}}}});
  }
  if (route.describe_body != nullptr) {
    operation["requestBody"] = {
        {"required", true}, {"content", content("application/json", route.describe_body(model))}};
  }
  operation["responses"] = {{"200", success(route)}};
  operation["responses"].update(refusals(route));
  return operation;
}

}  // namespace

Json openapi_document(const ServedModel& model) {
  Json paths = Json::object();
  for (const Route& route : routes()) {
    std::string path(route.path);
    if (path.ends_with('/')) path += "{name}";
    const std::string method = route.method == "GET" ? "get" : "post";
    paths[path][method] = operation_of(route, model);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Dure"},
            {"description",
             "The OpenAI-compatible API of this server, as it is. Fields that are not "
             "described are refused."},
            {"version", DURE_VERSION}}},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", answer_schemas()},
            {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace dure
