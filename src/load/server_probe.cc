// See server_probe.h.
#include "load/server_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "load/answer_event.h"

namespace dure::load {
namespace {

constexpr size_t most_answer_bytes = size_t{16} << 20;

struct Answer {
  CallEnd end = CallEnd::hung_up;
  std::string why;
  int status = 0;
  std::string body;
};

class Collect : public CallEvents {
 public:
  explicit Collect(Answer& answer) : answer_(answer) {}
  bool on_sent() override { return true; }
  bool on_head(const CallHead& head) override {
    answer_.status = head.status;
    return true;
  }
  bool on_bytes(std::string_view bytes) override {
    answer_.body += bytes;
    return answer_.body.size() <= most_answer_bytes;
  }
  void on_end(CallEnd end, const std::string& why) override {
    answer_.end = end;
    answer_.why = why;
  }

 private:
  Answer& answer_;
};

Answer ask(Transport& transport, CallSpec spec) {
  Answer answer;
  transport.start(std::move(spec), std::make_shared<Collect>(answer));
  transport.run();
  return answer;
}

[[noreturn]] void throw_unanswered(const Answer& answer, const std::string& path) {
  if (answer.end == CallEnd::not_reached) {
    throw Error(ErrorCode::unavailable, fmt::format("nobody answers: {}", answer.why),
                "start a server with `dure serve MODEL`, or check the URL");
  }
  if (answer.end == CallEnd::not_http) {
    throw Error(ErrorCode::failed, fmt::format("what answers does not speak HTTP: {}", answer.why),
                "check the port of the URL");
  }
  throw Error(ErrorCode::unavailable, fmt::format("no answer to GET {}: {}", path, answer.why));
}

// Token ids that the server made of the sample; empty where it did not.
std::vector<int32_t> tokens_in(const Answer& answer) {
  std::vector<int32_t> tokens;
  if (answer.end != CallEnd::complete || answer.status != 200) return tokens;
  try {
    const Json json = parse_json(answer.body, "answer to /tokenize");
    for (const Json& id : json.at("tokens")) {
      const auto value = id.get<int64_t>();
      if (value < 0 || value > INT32_MAX) return {};
      tokens.push_back(static_cast<int32_t>(value));
    }
  } catch (const Error&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
  return tokens;
}

}  // namespace

std::string first_model(Transport& transport, const std::string& prefix) {
  const std::string path = prefix + "/v1/models";
  const Answer answer = ask(transport, {"GET", path, ""});
  if (answer.end != CallEnd::complete) throw_unanswered(answer, path);
  if (answer.status != 200) {
    const bool is_ours = answer.status == 401 || answer.status == 403;
    throw Error(answer.status >= 500 ? ErrorCode::unavailable : ErrorCode::bad_input,
                fmt::format("GET {} is answered {}: {}", path, answer.status,
                            error_message_of(answer.body)),
                is_ours ? "set OPENAI_API_KEY to a key that the server knows"
                        : "name the model with --model if the server has no such list");
  }
  try {
    return parse_json(answer.body, "list of models").at("data").at(0).at("id").get<std::string>();
  } catch (const std::exception&) {
    throw Error(ErrorCode::failed,
                fmt::format("the answer to GET {} lists no model: {:.80}", path, answer.body),
                "is this an OpenAI-compatible server? If so, name the model with --model");
  }
}

PromptStyle learn_style(Transport& transport, const std::string& prefix, const std::string& model,
                        bool chat) {
  const std::string sample = word_sample();
  const Json as_vllm = {{"model", model}, {"prompt", sample}, {"add_special_tokens", false}};
  const Json as_llama = {{"content", sample}, {"add_special", false}};
  PromptStyle style;
  style.chat = chat;
  for (const Json& body : {as_vllm, as_llama}) {
    std::vector<int32_t> tokens =
        tokens_in(ask(transport, {"POST", prefix + "/tokenize", body.dump()}));
    if (tokens.empty()) continue;
    style.tokens_per_word =
        static_cast<double>(tokens.size()) / static_cast<double>(word_sample_size());
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    style.alphabet = std::move(tokens);
    break;
  }
  return style;
}

}  // namespace dure::load
