// dure bench URL: a load on an OpenAI-compatible server, and how it was answered.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/http_url.h"
#include "base/text_file.h"
#include "base/units.h"
#include "cli/bench_flags.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "load/files.h"
#include "load/http_transport.h"
#include "load/load_run.h"
#include "load/server_probe.h"

namespace dure {
namespace {

constexpr double longest_probe_s = 10.0;

struct Server {
  load::HttpTransportOptions transport;
  std::string prefix;  // of its paths, before "/v1"
};

Server server_of(const BenchFlags& flags) {
  Server server;
  server.transport.url = parse_url(flags.url);
  server.prefix = server.transport.url.path;
  if (server.prefix.ends_with("/v1")) server.prefix.resize(server.prefix.size() - 3);
  if (const char* key = std::getenv("OPENAI_API_KEY")) server.transport.api_key = key;
  if (server.transport.api_key.find_first_of("\r\n") != std::string::npos) {
    throw_bad_input("OPENAI_API_KEY holds a line break");
  }
  server.transport.silence_timeout_s = parse_seconds(flags.timeout, "--timeout");
  return server;
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// How requests come, in words.
std::string loop_text(const BenchFlags& flags, const load::WorkloadSpec& spec) {
  if (spec.concurrency > 0) {
    return fmt::format("closed loop, {} client{}", spec.concurrency,
                       spec.concurrency == 1 ? "" : "s");
  }
  if (!flags.trace.empty()) return fmt::format("arrivals of {} × {}", flags.trace, flags.speed);
  return fmt::format("open loop, {} requests/s", flags.rate);
}

Json settings_json(const BenchFlags& flags, const load::WorkloadSpec& spec,
                   const std::string& model) {
  Json json = {
      {"url", flags.url}, {"model", model}, {"endpoint", flags.endpoint}, {"seed", flags.seed}};
  if (spec.concurrency > 0) json["concurrency"] = spec.concurrency;
  if (spec.rate > 0.0) json["rate"] = std::isinf(spec.rate) ? Json("inf") : Json(spec.rate);
  if (!flags.trace.empty()) json["trace"] = flags.trace;
  if (!flags.trace.empty() && spec.concurrency == 0) json["speed"] = flags.speed;
  return json;
}

load::LoadRun::OnProgress progress_on_a_terminal(int64_t requests) {
  if (!is_terminal(stderr)) return {};
  return [requests](const load::LoadProgress& progress) {
    say(stderr, fmt::format("\r{}\033[K", bench_progress(progress, requests)));
  };
}

load::LoadResult run_load(const BenchFlags& flags, const Server& server,
                          load::LoadSettings settings, load::WorkloadSpec spec) {
  const int64_t requests = spec.requests;
  std::optional<load::WorkloadSpec> background = bench_background(flags);
  std::optional<load::Workload> beside;
  if (background) beside.emplace(std::move(*background));
  load::HttpTransport transport(server.transport);
  load::LoadRun run(transport, std::move(settings), load::Workload(std::move(spec)),
                    std::move(beside), progress_on_a_terminal(requests));
  load::LoadResult result;
  {
    const StopSignals signals([&run](int count) {
      if (count > 1) ::_exit(130);
      run.stop();
    });
    result = run.run();
  }
  if (is_terminal(stderr)) say(stderr, "\r\033[K");
  return result;
}

// Before the load, not after an hour of it.
void check_writable(const std::string& path, const char* flag) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return;
  throw_bad_input(fmt::format("{} {}: cannot be written", flag, path),
                  "name a file in a folder that is there and may be written to", flag);
}

void write_files(const BenchFlags& flags, const BenchReport& report, Json json) {
  if (!flags.csv.empty()) write_text_file(flags.csv, records_csv(*report.result), "--csv");
  if (flags.save.empty()) return;
  json["records"] = records_json(*report.result);
  write_text_file(flags.save, dump(json, -1) + "\n", "--save");
}

int run(const BenchFlags& flags) {
  const Server server = server_of(flags);
  load::WorkloadSpec spec = bench_workload(flags);
  bench_background(flags);  // refused before the server is asked
  BenchReport report;
  report.goal = bench_goal(flags);
  bench_members(flags, "");
  check_writable(flags.csv, "--csv");
  check_writable(flags.save, "--save");

  load::HttpTransportOptions probe_options = server.transport;
  probe_options.silence_timeout_s = std::min(longest_probe_s, probe_options.silence_timeout_s);
  load::HttpTransport probe(probe_options);
  const std::string model =
      flags.model.empty() ? load::first_model(probe, server.prefix) : flags.model;
  load::LoadSettings settings;
  settings.path = server.prefix + (flags.is_chat() ? "/v1/chat/completions" : "/v1/completions");
  settings.style.chat = flags.is_chat();
  if (flags.prompts.empty() || !flags.background.empty()) {
    settings.style = load::learn_style(probe, server.prefix, model, flags.is_chat());
  }
  const std::string members = dump(bench_members(flags, model), -1);
  settings.members = members.substr(1, members.size() - 2);
  settings.warm_up = flags.warm_up;

  const Json told = settings_json(flags, spec, model);
  report.title = fmt::format("{} at {}, {}, {}", visible(model), flags.url, flags.endpoint,
                             loop_text(flags, spec));
  report.ids = flags.prompts.empty() && !flags.is_chat() && !settings.style.alphabet.empty();
  const load::LoadResult result = run_load(flags, server, std::move(settings), std::move(spec));
  report.result = &result;
  report.summary = summarize(result.records, result.start_s, report.goal);
  report.background = summarize(result.background, result.start_s, {});
  Json json = bench_json(report, told);
  fmt::print("{}", flags.json ? dump(json, 2) + "\n" : bench_text(report));
  write_files(flags, report, std::move(json));
  const int64_t failed = report.summary.failed + report.background.failed + result.warm_up_failed;
  return failed > 0 ? 1 : 0;
}

RunCommand declare(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  add_bench_flags(app, *flags);
  app.footer(
      "An API key is taken from OPENAI_API_KEY. Ctrl-C gives the numbers so far.\n"
      "Example: dure bench http://127.0.0.1:8000 --concurrency 16 --input 20..3000 --output 64");
  return [flags] { return run(*flags); };
}

const RegisterCommand registered({"bench", "load a server and measure its answers", declare});

}  // namespace
}  // namespace dure
