// POST /tokenize and /detokenize, in vLLM's shapes.
#include <nlohmann/json.hpp>

#include "server/api_handlers.h"
#include "server/prompting.h"

namespace dure {

void tokenize(const ApiContext& context, const HttpRequest& request,
              const std::shared_ptr<Exchange>& exchange) {
  const TokenizeCall call = parse_tokenize_call(request.body, context.model);
  const auto* text = std::get_if<std::string>(&call.input);
  const std::vector<int32_t> tokens =
      text != nullptr ? encode(*text, call.add_special, context.model)
                      : encode(std::get<Conversation>(call.input), context.model);
  const Json body = {{"count", tokens.size()},
                     {"max_model_len", context.model.context},
                     {"tokens", tokens},
                     {"token_strs", nullptr}};
  reply_json(*exchange, body.dump());
}

void detokenize(const ApiContext& context, const HttpRequest& request,
                const std::shared_ptr<Exchange>& exchange) {
  const std::vector<int32_t> tokens = parse_detokenize_call(request.body, context.model);
  const Json body = {{"prompt", context.model.tokenizer->decode(tokens, false)}};
  reply_json(*exchange, body.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace dure
