// See logprobs_json.h. Shapes: https://platform.openai.com/docs/api-reference/chat/object and
// https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html.
#include "server/logprobs_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace dure {
namespace {

double shown(float logprob) {
  constexpr double least = -9999.0;
  return logprob >= least ? static_cast<double>(logprob) : least;  // also for what is no number
}

std::span<const TopLogprob> first(const std::vector<TopLogprob>& top, int32_t most) {
  return {top.data(), std::min(top.size(), static_cast<size_t>(std::max(most, 0)))};
}

Json chat_token(int32_t token, float logprob, const TokenTexts& texts) {
  Json bytes = Json::array();
  for (const char byte : texts.bytes(token)) bytes.push_back(static_cast<unsigned char>(byte));
  return {{"token", texts.shown(token)}, {"logprob", shown(logprob)}, {"bytes", std::move(bytes)}};
}

int64_t characters(std::string_view bytes) {
  return std::count_if(bytes.begin(), bytes.end(),
                       [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

Json empty_lists() {
  return {{"text_offset", Json::array()},
          {"token_logprobs", Json::array()},
          {"tokens", Json::array()},
          {"top_logprobs", Json::array()}};
}

}  // namespace

Json chat_logprobs(std::span<const TokenLogprobs> tokens, int32_t alternatives,
                   const TokenTexts& texts) {
  Json content = Json::array();
  for (const TokenLogprobs& token : tokens) {
    Json entry = chat_token(token.token, token.logprob, texts);
    Json top = Json::array();
    for (const TopLogprob& other : first(token.top, alternatives)) {
      top.push_back(chat_token(other.token, other.logprob, texts));
    }
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

CompletionLogprobs::CompletionLogprobs(int32_t alternatives, const TokenTexts& texts)
    : alternatives_(alternatives), texts_(texts), lists_(std::make_shared<Json>(empty_lists())) {}

void CompletionLogprobs::skip(std::string_view text) {
  offset_ += characters(text);
}

void CompletionLogprobs::add_text(int32_t token) {
  (*lists_)["text_offset"].push_back(offset_);
  (*lists_)["tokens"].push_back(texts_.shown(token));
  offset_ += characters(texts_.bytes(token));
}

void CompletionLogprobs::add_first(int32_t token) {
  add_text(token);
  (*lists_)["token_logprobs"].push_back(nullptr);
  (*lists_)["top_logprobs"].push_back(nullptr);
}

void CompletionLogprobs::add(std::span<const TokenLogprobs> tokens) {
  for (const TokenLogprobs& token : tokens) {
    add_text(token.token);
    (*lists_)["token_logprobs"].push_back(shown(token.logprob));
    Json top = {{texts_.shown(token.token), shown(token.logprob)}};
    for (const TopLogprob& other : first(token.top, alternatives_)) {
      top.emplace(texts_.shown(other.token), shown(other.logprob));
    }
    (*lists_)["top_logprobs"].push_back(std::move(top));
  }
}

Json CompletionLogprobs::take() {
  return std::exchange(*lists_, empty_lists());
}

Json prompt_logprobs_json(std::span<const TokenLogprobs> tokens, int32_t alternatives,
                          const TokenTexts& texts) {
  const auto entry = [&](int32_t token, float logprob, int64_t rank) -> Json {
    return {{"logprob", shown(logprob)}, {"rank", rank}, {"decoded_token", texts.shown(token)}};
  };
  Json list = Json::array({nullptr});
  for (const TokenLogprobs& token : tokens) {
    Json ids = {{std::to_string(token.token), entry(token.token, token.logprob, token.rank)}};
    int64_t rank = 0;
    for (const TopLogprob& other : first(token.top, alternatives)) {
      ids.emplace(std::to_string(other.token), entry(other.token, other.logprob, ++rank));
    }
    list.push_back(std::move(ids));
  }
  return list;
}

}  // namespace dure
