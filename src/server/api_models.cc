// GET /v1/models and /v1/models/{id}.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/api_handlers.h"
#include "server/requests.h"

namespace dure {
namespace {

Json model_json(const ServedModel& model, const std::string& name) {
  return {{"id", name},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "dure"},
          {"max_model_len", model.context}};
}

std::string percent_decoded(std::string_view text) {
  const auto digit = [](char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
    return -1;
  };
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

}  // namespace

void list_models(const ApiContext& context, const HttpRequest&,
                 const std::shared_ptr<Exchange>& exchange) {
  Json data = Json::array();
  for (const std::string& name : context.model.names) {
    data.push_back(model_json(context.model, name));
  }
  reply_json(*exchange, Json{{"object", "list"}, {"data", std::move(data)}}.dump());
}

void get_model(const ApiContext& context, const HttpRequest& request,
               const std::shared_ptr<Exchange>& exchange) {
  const std::string name = percent_decoded(request.path.substr(std::string("/v1/models/").size()));
  if (!context.model.answers_to(name)) {
    throw RequestError(404, "model_not_found",
                       fmt::format("the model '{:.100}' does not exist here", name), "", "model");
  }
  reply_json(*exchange, model_json(context.model, name).dump());
}

}  // namespace dure
