// dure serve MODEL: the front process. Checks everything, starts the ranks, serves until told to
// stop.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "cli/command.h"
#include "cli/number_range.h"
#include "cli/progress.h"
#include "cli/serve_log.h"
#include "cli/serve_report.h"
#include "cli/serve_setup.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "server/api.h"
#include "server/api_errors.h"
#include "server/line_log.h"

namespace dure {
namespace {

constexpr auto last_answers = std::chrono::seconds(2);  // to be sent, after the drain

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

// The bar while the group loads for the first time; the engine's thread draws it.
class LoadingBar {
 public:
  LoadingBar() : bar_(std::in_place, "loading") {}
  void show(const LoadProgress& progress) {
    const std::lock_guard lock(mutex_);
    if (bar_) bar_->show(progress.bytes_done, progress.bytes_total);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    bar_.reset();
  }

 private:
  std::mutex mutex_;
  std::optional<Progress> bar_;
};

int worker_threads() {
  return std::max(2, static_cast<int>(std::thread::hardware_concurrency()) / 2);
}

// Requests may come before there is an engine to take them.
HttpHandler handler_of(const std::atomic<const ApiContext*>& context) {
  return [&context](HttpRequest request, std::shared_ptr<Exchange> exchange) {
    if (const ApiContext* ready = context.load()) {
      return handle_request(*ready, std::move(request), exchange);
    }
    exchange->reply(
        error_response(api_error_of(Error(ErrorCode::unavailable, "the server is starting"))));
  };
}

std::string url_of(const HttpOptions& options, uint16_t port) {
  const bool any = options.host == "0.0.0.0" || options.host == "::";
  const std::string host = any ? "127.0.0.1" : options.host;
  return host.find(':') == std::string::npos ? fmt::format("http://{}:{}", host, port)
                                             : fmt::format("http://[{}]:{}", host, port);
}

void name_ranks(TraceFile& trace, const GroupReady& ready) {
  for (const RankReport& rank : ready.ranks) {
    trace.rank(rank.rank, fmt::format("rank {} on {}", rank.rank, rank.host));
  }
}

int run(const ServeFlags& flags, ServeLog& log) {
  std::signal(SIGPIPE, SIG_IGN);  // the reader of our log may go; the server stays
  ServeSetup setup = prepare(flags);
  LoadingBar bar;
  std::atomic<bool> serving{false};
  setup.engine.on_progress = [&](const LoadProgress& progress) { bar.show(progress); };
  LineLog requests(STDOUT_FILENO,
                   [&](const std::string& what) { log.warn("request_lines_lost", what); });
  std::optional<TraceFile> trace;
  const auto tell = [&](const Event& event) {
    log.add(event);
    if (trace) trace->mark(event);
  };
  setup.engine.on_event = [&](const Event& event) {
    bar.clear();
    if (serving) tell(event);  // what a start fails of is the command's error
  };
  setup.http.warn = [&](const std::string& what) { log.warn("http", what); };
  if (flags.log_requests) {
    setup.http.on_request_over = [&](const AccessRecord& record) {
      requests.add(access_line(record));
    };
  }

  std::atomic<const ApiContext*> live{nullptr};
  // Listening comes first: a port in use must not cost the time to load a model.
  HttpServer http(setup.http, handler_of(live));
  if (!flags.trace.empty()) {
    setup.trace.say = [&](const Event& event) { log.add(event); };
    trace.emplace(setup.trace);
    setup.engine.on_step = [&](TracedStep step) { trace->step(std::move(step)); };
  }
  WorkerPool workers(worker_threads(), static_cast<size_t>(flags.max_requests));
  const bool json = log.format() == LogFormat::json;
  if (!json) say(stdout, planned_report(setup));
  setup.group.say = tell;
  setup.group.keeper = std::make_shared<WeightKeeper>(setup.group.rank_program,
                                                      setup.group.hosts_file, log.format());
  EngineLoop engine(setup.engine, setup.model.tokenizer, [&](Group::Events events) {
    // How long a restart took, and where the weights came from.
    events.on_ready = [&, pass_on = std::move(events.on_ready),
                       begin = std::chrono::steady_clock::now()](const GroupReady& ready) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (serving) tell(restarted_event(ready, spent.count()));
      if (trace) name_ranks(*trace, ready);
      pass_on(ready);
    };
    if (trace) {
      events.on_spans = [&](RankSpans told) {
        trace->spans(told.rank, std::move(told.names), std::move(told.spans), told.lost);
      };
      events.on_clock = [&](const ClockTold& told) { tell(clock_event(told)); };
    }
    return Group::launch(setup.group, std::move(events));
  });
  DrainRate drain_rate;
  Vocabulary vocabulary(setup.model.tokenizer, setup.model.vocab);
  Grammars grammars(vocabulary);
  const ApiContext context{setup.model, engine,   workers,  drain_rate,
                           vocabulary,  grammars, setup.api};
  live = &context;

  std::atomic<bool> told_to_stop{false};
  const StopSignals signals([&](int count) {
    told_to_stop = true;
    http.stop_accepting();
    if (count > 1) return engine.stop_now();
    log.add({Level::info, "stopping",
             fmt::format("stopping: requests under way may take {:.0f} s more",
                         flags.drain_timeout_s)});
    engine.drain(milliseconds_of(flags.drain_timeout_s));
  });
  const auto shut = [&] {
    http.wait_answered(last_answers);
    http.stop();
    workers.stop();
  };
  try {
    const GroupReady ready = engine.wait_ready();
    serving = true;
    bar.clear();
    const std::string url = url_of(setup.http, http.port());
    if (json) {
      log.add(serving_event(ready, url, setup));
    } else {
      say(stdout, running_report(ready));
      say(stdout, fmt::format("ready: {}/v1 (model {})\n", url, setup.model.names.front()));
    }
  } catch (const Error&) {
    bar.clear();
    shut();
    if (told_to_stop) return 0;
    throw;
  }
  engine.wait_stopped();
  shut();
  return 0;
}

// With --log-format json what the command fails of is a line of JSON, too.
int run_logged(const ServeFlags& flags) {
  if (flags.log_format != "json") {
    ServeLog log(LogFormat::text);
    return run(flags, log);
  }
  ServeLog log(LogFormat::json);
  try {
    return run(flags, log);
  } catch (const Error& error) {
    log.add({Level::error, "failed", error.message(), error.hint()});
    return exit_status_of(error.code());
  }
}

RunCommand declare(CLI::App& app) {
  auto flags = std::make_shared<ServeFlags>();
  add_run_flags(app, flags->run);
  app.add_option("--host", flags->host, "address to listen on")->capture_default_str();
  app.add_option("--port", flags->port)->check(CLI::Range(0, 65535))->capture_default_str();
  app.add_option("--context", flags->context, "tokens of prompt and answer; default: the model's")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  app.add_option("--kv-memory", flags->kv_memory,
                 "of all ranks' caches and recurrent states together: 4GiB");
  app.add_option("--max-batch-tokens", flags->max_batch_tokens, "of one step and dp group")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--step-stretch", flags->step_stretch,
                 "prompts may make a step so many times as long as its decodes alone; 0: any")
      ->check(number_between(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--page-tokens", flags->page_tokens, "of one page of the KV cache")
      ->check(CLI::Range(1, 1 << 12))
      ->capture_default_str();
  app.add_flag("--no-prefix-cache", flags->no_prefix_cache,
               "compute every prompt anew, also where another began alike");
  app.add_option("--max-sequences", flags->max_sequences, "running at once in one dp group")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--max-requests", flags->max_requests, "running and waiting; others get a 429")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--served-model-name", flags->served_names,
                 "default: the folder's name; may be given several times")
      ->allow_extra_args(false);
  app.add_option("--max-connections", flags->max_connections, "open at once; others get a 503")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--max-body", flags->max_body, "of a request; larger ones get a 413")
      ->capture_default_str();
  app.add_option("--idle-timeout", flags->idle_timeout_s, "seconds between a connection's requests")
      ->check(number_between(0.1, 86400.0))
      ->capture_default_str();
  app.add_option("--cors-origin", flags->cors_origins,
                 "page whose scripts may call; * for all; may be given several times")
      ->allow_extra_args(false);
  app.add_flag("--log-requests", flags->log_requests,
               "one line of JSON on stdout for each request");
  app.add_option("--trace", flags->trace,
                 "write what steps, ranks and operations take to this file, for Perfetto or "
                 "chrome://tracing");
  app.add_option("--trace-size", flags->trace_size, "where the trace ends")->capture_default_str();
  app.add_option("--log-format", flags->log_format,
                 "of what is written to stderr; json: one object a line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--expert-metrics", flags->expert_metrics,
                 "series of each layer, expert and rank in /metrics, or of ranks only; auto: each, "
                 "up to 4,096 of them")
      ->check(CLI::IsMember({"auto", "experts", "ranks"}))
      ->capture_default_str();
  app.add_option("--tool-parser", flags->tool_parser,
                 "how the model writes tool calls (hermes, llama3_json …, none); default: as its "
                 "chat template shows");
  app.add_option(
      "--reasoning-parser", flags->reasoning_parser,
      "how it marks reasoning (qwen3, deepseek_r1 …, none); default: as its chat template "
      "shows");
  app.add_option("--api-key-file", flags->api_key_file, "one key per line; clients need one");
  app.add_option("--deadline", flags->deadline_s, "seconds of every wait between ranks")
      ->check(number_between(0.1, 86400.0))
      ->capture_default_str();
  app.add_option("--drain-timeout", flags->drain_timeout_s,
                 "seconds that requests have to end after Ctrl-C")
      ->check(number_between(0.0, 86400.0))
      ->capture_default_str();
  app.footer("Example: dure serve models/demo-moe --tp 2 --ep 2 --port 8000");
  return [flags] { return run_logged(*flags); };
}

const RegisterCommand registered({"serve", "serve a model over HTTP, like OpenAI", declare});

}  // namespace
}  // namespace dure
