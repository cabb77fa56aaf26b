// dure chat URL: talk to a server from a terminal, or through a pipe.
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/http_call.h"
#include "cli/number_range.h"
#include "cli/terminal.h"
#include "load/sse.h"

namespace dure {
namespace {

struct Options {
  std::string url;
  std::string model;
  std::string system;
  std::optional<int> max_tokens;
  std::optional<double> temperature;
};

// Ctrl-C: ends the answer under way, or the program while it waits for a line.
volatile sig_atomic_t interrupted = 0;

void install_interrupt() {
  struct sigaction action = {};  // without SA_RESTART: waits end
  action.sa_handler = [](int) { interrupted = 1; };
  ::sigaction(SIGINT, &action, nullptr);
}

// The server's own words, where it has any.
[[noreturn]] void throw_answered(int status, const std::string& body) {
  std::string message = fmt::format("the server answered {}", status);
  try {
    const Json json = parse_json(body, "answer");
    message += ": " + json.at("error").at("message").get<std::string>();
  } catch (const std::exception&) {
    // Not this kind of server; the status has to do.
  }
  throw Error(status >= 500 || status == 429 ? ErrorCode::unavailable : ErrorCode::bad_input,
              message);
}

class Chat {
 public:
  explicit Chat(const Options& options) : options_(options), url_(parse_url(options.url)) {
    if (!url_.path.ends_with("/v1")) url_.path += "/v1";
    if (const char* key = std::getenv("OPENAI_API_KEY")) {
      headers_ = fmt::format("Authorization: Bearer {}\r\n", key);
    }
    if (options_.model.empty()) options_.model = first_model();
    if (!options_.system.empty()) remember("system", options_.system);
  }

  const std::string& model() const { return options_.model; }

  // Prints the answer as it comes. What was said stays in the conversation, even if cut short.
  void say(const std::string& line) {
    remember("user", line);
    std::string answer;
    try {
      stream([&](const std::string& text) {
        answer += text;
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
      });
    } catch (const Error&) {
      messages_.erase(messages_.size() - 1);
      throw;
    }
    fmt::print("\n");
    std::fflush(stdout);
    remember("assistant", answer);
  }

 private:
  void remember(const char* role, const std::string& content) {
    messages_.push_back({{"role", role}, {"content", content}});
  }

  std::string first_model() {
    HttpCall call(url_, "GET", url_.path + "/models", headers_, "");
    const std::string body = call.read_all();
    if (call.status() != 200) throw_answered(call.status(), body);
    try {
      return parse_json(body, "list of models").at("data").at(0).at("id").get<std::string>();
    } catch (const Json::exception&) {
      throw Error(ErrorCode::failed, fmt::format("{} lists no model", options_.url),
                  "name one with --model");
    }
  }

  template <class OnText>
  void stream(const OnText& on_text) {
    Json request = {{"model", options_.model}, {"messages", messages_}, {"stream", true}};
    if (options_.max_tokens) request["max_tokens"] = *options_.max_tokens;
    if (options_.temperature) request["temperature"] = *options_.temperature;
    const std::string body = request.dump(-1, ' ', false, Json::error_handler_t::replace);
    HttpCall call(url_, "POST", url_.path + "/chat/completions", headers_, body);
    if (call.status() != 200) throw_answered(call.status(), call.read_all());
    load::SseParser events;
    while (!interrupted) {
      const std::string piece = call.read_some();
      if (piece.empty()) return;
      events.feed(piece, [&](std::string_view data) {
        if (data != "[DONE]") take_event(data, on_text);
        return true;
      });
    }
  }

  template <class OnText>
  void take_event(std::string_view data, const OnText& on_text) {
    const Json json = parse_json(data, "event of the stream");
    if (json.contains("error")) throw_answered(503, std::string(data));
    if (!json.contains("choices")) return;
    for (const Json& choice : json["choices"]) {
      if (!choice.contains("delta")) continue;
      const Json& delta = choice["delta"];
      if (delta.contains("content") && delta["content"].is_string()) {
        on_text(delta["content"].get<std::string>());
      }
    }
  }

  Options options_;
  HttpUrl url_;
  std::string headers_;
  Json messages_ = Json::array();
};

int run(const Options& options) {
  install_interrupt();
  Chat chat(options);
  const bool talks = is_terminal(stdin) && is_terminal(stdout);
  if (talks) fmt::print("{}; Ctrl-C stops an answer, Ctrl-D ends\n", chat.model());
  for (;;) {
    interrupted = 0;
    if (talks) fmt::print("> ");
    std::fflush(stdout);
    std::string line;
    if (!std::getline(std::cin, line)) break;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      chat.say(line);
    } catch (const Error& error) {
      if (!talks) throw;  // a script must notice
      print_error(error);
    }
  }
  if (talks) fmt::print("\n");
  return 0;
}

RunCommand declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("URL", options->url, "http://127.0.0.1:8000")->required();
  app.add_option("--model", options->model, "default: the first that the server lists");
  app.add_option("--system", options->system, "a system message in front of the conversation");
  app.add_option("--max-tokens", options->max_tokens)->check(CLI::Range(1, 1 << 24));
  app.add_option("--temperature", options->temperature)->check(number_between(0.0, 100.0));
  app.footer("An API key is taken from OPENAI_API_KEY.\nExample: dure chat http://127.0.0.1:8000");
  return [options] { return run(*options); };
}

const RegisterCommand registered({"chat", "talk to a server", declare});

}  // namespace
}  // namespace dure
