// The endpoints. Each answers through the exchange, now or later, or throws.
#pragma once

#include "server/api.h"

namespace dure {

using Handler = void(const ApiContext& context, const HttpRequest& request,
                     const std::shared_ptr<Exchange>& exchange);

Handler chat_completions;  // api_chat.cc
Handler completions;       // api_completions.cc
Handler list_models;       // api_models.cc
Handler get_model;
Handler tokenize;  // api_tokenize.cc
Handler detokenize;
Handler health;  // api_status.cc
Handler version;
Handler metrics;
Handler openapi;  // api_openapi.cc

void reply_json(Exchange& exchange, std::string body);

}  // namespace dure
