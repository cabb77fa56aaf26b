// GET /openapi.json.
#include <nlohmann/json.hpp>

#include "server/api_handlers.h"
#include "server/openapi.h"

namespace dure {

void openapi(const ApiContext& context, const HttpRequest&,
             const std::shared_ptr<Exchange>& exchange) {
  reply_json(*exchange, openapi_document(context.model).dump());
}

}  // namespace dure
