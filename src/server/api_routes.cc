// See api_routes.h.
#include "server/api_routes.h"

#include <fmt/format.h>

#include <array>

#include "server/requests.h"

namespace dure {
namespace {

constexpr std::array all_routes = {
    Route{"POST", "/v1/chat/completions", chat_completions, true, "Answer a conversation",
          "ChatCompletion", describe_chat_call, "ChatCompletionChunk"},
    Route{"POST", "/v1/completions", completions, true, "Continue texts or token ids", "Completion",
          describe_completion_call, "Completion"},
    Route{"GET", "/v1/models", list_models, true, "The models served here", "ModelList"},
    Route{"GET", "/v1/models/", get_model, true, "One model", "Model"},
    Route{"POST", "/tokenize", tokenize, true, "Token ids of a text or a conversation", "Tokens",
          describe_tokenize_call},
    Route{"POST", "/detokenize", detokenize, true, "The text of token ids", "Text",
          describe_detokenize_call},
    Route{"GET", "/health", health, false, "200 while steps make progress", "Health"},
    Route{"GET", "/version", version, false, "The version", "Version"},
    Route{"GET", "/metrics", metrics, false, "Prometheus metrics", ""},
    Route{"GET", "/openapi.json", openapi, false, "This document", "Document"},
};

// OpenAI's endpoints (and vLLM's) that are not served, and what they would need.
struct Unserved {
  std::string_view path;  // and whatever lies below
  std::string_view why;
};
constexpr std::array unserved = {
    Unserved{"/v1/responses", "the Responses API is not served; use /v1/chat/completions"},
    Unserved{"/v1/audio", "the model reads and writes text only"},
    Unserved{"/v1/images", "the model reads and writes text only"},
    Unserved{"/v1/videos", "the model reads and writes text only"},
    Unserved{"/v1/realtime", "the model reads and writes text only"},
    Unserved{"/v1/moderations", "the model does not classify texts"},
    Unserved{"/v1/rerank", "the model does not score texts"},
    Unserved{"/v1/score", "the model does not score texts"},
    Unserved{"/v1/files", "no files are kept"},
    Unserved{"/v1/uploads", "no files are kept"},
    Unserved{"/v1/batches", "there are no batch jobs; send the requests one by one"},
    Unserved{"/v1/fine_tuning", "models are served, not trained"},
    Unserved{"/v1/assistants", "no conversations are kept; use /v1/chat/completions"},
    Unserved{"/v1/threads", "no conversations are kept; use /v1/chat/completions"},
    Unserved{"/v1/conversations", "no conversations are kept; use /v1/chat/completions"},
    Unserved{"/v1/vector_stores", "no files are kept"},
    Unserved{"/v1/engines", "engines were replaced by models; use /v1/models"},
};

bool lies_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

bool Route::matches(std::string_view asked) const {
  return path.ends_with('/') ? asked.starts_with(path) && asked.size() > path.size()
                             : asked == path;
}

std::span<const Route> routes() {
  return all_routes;
}

const Route* find_route(std::string_view method, std::string_view path) {
  for (const Route& route : all_routes) {
    if (route.method == method && route.matches(path)) return &route;
  }
  return nullptr;
}

std::string allowed_methods(std::string_view path) {
  for (const Route& route : all_routes) {
    if (route.matches(path)) return route.method == "GET" ? "GET, HEAD" : std::string(route.method);
  }
  return "";
}

ApiError unknown_path(std::string_view path) {
  if (lies_in(path, "/v1/embeddings")) {
    return {.status = 400,
            .message = "this model has no embeddings: it generates text (use /v1/completions)",
            .param = "model",
            .code = "unsupported_model"};
  }
  for (const Unserved& endpoint : unserved) {
    if (!lies_in(path, endpoint.path)) continue;
    return {.status = 404,
            .message = fmt::format("{} is not served here: {}", endpoint.path, endpoint.why),
            .code = "unsupported_endpoint"};
  }
  return {.status = 404, .message = fmt::format("there is no {:.100}", path), .code = "not_found"};
}

}  // namespace dure
