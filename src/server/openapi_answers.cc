// The answers' shapes, for the document: what clients may rely on. See answer_json.cc, api_*.cc and
// api_errors.cc, which write them.
#include <nlohmann/json.hpp>

#include "server/openapi.h"

namespace dure {
namespace {

constexpr const char* schemas = R"json({
  "Error": {
    "type": "object", "required": ["error"],
    "properties": {"error": {
      "type": "object", "required": ["message", "type", "param", "code"],
      "properties": {
        "message": {"type": "string", "minLength": 1},
        "type": {"enum": ["invalid_request_error", "rate_limit_error", "server_error",
                          "service_unavailable"]},
        "param": {"type": ["string", "null"]},
        "code": {"type": ["string", "null"]}}}}},
  "Usage": {
    "type": "object", "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
    "properties": {
      "prompt_tokens": {"type": "integer", "minimum": 1},
      "completion_tokens": {"type": "integer", "minimum": 0},
      "total_tokens": {"type": "integer", "minimum": 1},
      "prompt_tokens_details": {"type": "object", "required": ["cached_tokens"], "properties": {
        "cached_tokens": {"type": "integer", "minimum": 0}}}}},
  "StopReason": {"type": ["integer", "string", "null"]},
  "TokenLogprob": {
    "type": "object", "required": ["token", "logprob", "bytes"],
    "properties": {
      "token": {"type": "string"},
      "logprob": {"type": "number"},
      "bytes": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}},
      "top_logprobs": {"type": "array", "items": {"$ref": "#/components/schemas/TokenLogprob"}}}},
  "ChatLogprobs": {
    "type": ["object", "null"], "required": ["content"],
    "properties": {
      "content": {"type": "array", "items": {"$ref": "#/components/schemas/TokenLogprob"}}}},
  "CompletionLogprobs": {
    "type": ["object", "null"],
    "required": ["tokens", "token_logprobs", "top_logprobs", "text_offset"],
    "properties": {
      "tokens": {"type": "array", "items": {"type": "string"}},
      "token_logprobs": {"type": "array", "items": {"type": ["number", "null"]}},
      "top_logprobs": {"type": "array", "items": {"type": ["object", "null"]}},
      "text_offset": {"type": "array", "items": {"type": "integer", "minimum": 0}}}},
  "PromptLogprobs": {"type": "array", "items": {"type": ["object", "null"]}},
  "FinishReason": {"enum": ["stop", "length", "tool_calls", null]},
  "ChatCompletion": {
    "type": "object", "required": ["id", "object", "created", "model", "choices", "usage"],
    "properties": {
      "id": {"type": "string", "pattern": "^chatcmpl-"},
      "object": {"const": "chat.completion"},
      "created": {"type": "integer"},
      "model": {"type": "string"},
      "usage": {"$ref": "#/components/schemas/Usage"},
      "prompt_logprobs": {"$ref": "#/components/schemas/PromptLogprobs"},
      "choices": {"type": "array", "minItems": 1, "items": {
        "type": "object", "required": ["index", "message", "finish_reason", "logprobs"],
        "properties": {
          "index": {"type": "integer", "minimum": 0},
          "finish_reason": {"$ref": "#/components/schemas/FinishReason"},
          "stop_reason": {"$ref": "#/components/schemas/StopReason"},
          "logprobs": {"$ref": "#/components/schemas/ChatLogprobs"},
          "message": {
            "type": "object", "required": ["role", "content"],
            "properties": {
              "role": {"const": "assistant"},
              "content": {"type": ["string", "null"]},
              "reasoning_content": {"type": "string"},
              "tool_calls": {"type": "array", "minItems": 1, "items": {
                "type": "object", "required": ["id", "type", "function"],
                "properties": {
                  "id": {"type": "string"},
                  "type": {"const": "function"},
                  "function": {"type": "object", "required": ["name", "arguments"], "properties": {
                    "name": {"type": "string"}, "arguments": {"type": "string"}}}}}}}}}}}}},
  "ChatCompletionChunk": {
    "type": "object", "required": ["id", "object", "created", "model", "choices"],
    "properties": {
      "id": {"type": "string", "pattern": "^chatcmpl-"},
      "object": {"const": "chat.completion.chunk"},
      "created": {"type": "integer"},
      "model": {"type": "string"},
      "usage": {"anyOf": [{"$ref": "#/components/schemas/Usage"}, {"type": "null"}]},
      "choices": {"type": "array", "items": {
        "type": "object", "required": ["index", "delta", "finish_reason"],
        "properties": {
          "index": {"type": "integer", "minimum": 0},
          "finish_reason": {"$ref": "#/components/schemas/FinishReason"},
          "stop_reason": {"$ref": "#/components/schemas/StopReason"},
          "logprobs": {"$ref": "#/components/schemas/ChatLogprobs"},
          "delta": {"type": "object"}}}}}},
  "Completion": {
    "type": "object", "required": ["id", "object", "created", "model", "choices"],
    "properties": {
      "id": {"type": "string", "pattern": "^cmpl-"},
      "object": {"const": "text_completion"},
      "created": {"type": "integer"},
      "model": {"type": "string"},
      "usage": {"anyOf": [{"$ref": "#/components/schemas/Usage"}, {"type": "null"}]},
      "choices": {"type": "array", "items": {
        "type": "object", "required": ["index", "text", "finish_reason", "logprobs"],
        "properties": {
          "index": {"type": "integer", "minimum": 0},
          "text": {"type": "string"},
          "finish_reason": {"$ref": "#/components/schemas/FinishReason"},
          "stop_reason": {"$ref": "#/components/schemas/StopReason"},
          "logprobs": {"$ref": "#/components/schemas/CompletionLogprobs"},
          "prompt_logprobs": {"$ref": "#/components/schemas/PromptLogprobs"}}}}}},
  "Model": {
    "type": "object", "required": ["id", "object", "created", "owned_by", "max_model_len"],
    "properties": {
      "id": {"type": "string"},
      "object": {"const": "model"},
      "created": {"type": "integer"},
      "owned_by": {"type": "string"},
      "max_model_len": {"type": "integer", "minimum": 1}}},
  "ModelList": {
    "type": "object", "required": ["object", "data"],
    "properties": {
      "object": {"const": "list"},
      "data": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Model"}}}},
  "Tokens": {
    "type": "object", "required": ["count", "max_model_len", "tokens"],
    "properties": {
      "count": {"type": "integer", "minimum": 0},
      "max_model_len": {"type": "integer", "minimum": 1},
      "tokens": {"type": "array", "items": {"type": "integer", "minimum": 0}}}},
  "Text": {
    "type": "object", "required": ["prompt"],
    "properties": {"prompt": {"type": "string"}}},
  "Health": {
    "type": "object", "required": ["status"],
    "properties": {"status": {"const": "ok"}}},
  "Version": {
    "type": "object", "required": ["version"],
    "properties": {"version": {"type": "string"}}},
  "Document": {"type": "object", "required": ["openapi", "info", "paths"]}
})json";

}  // namespace

Json answer_schemas() {
  return Json::parse(schemas);
}

}  // namespace dure
