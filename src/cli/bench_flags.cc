// See bench_flags.h.
#include "cli/bench_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cli/number_range.h"

namespace dure {
namespace {

constexpr int most_clients = 100'000;
constexpr int64_t most_requests = 100'000'000;

void add_arrival_flags(CLI::App& app, BenchFlags& flags) {
  CLI::Option* concurrency =
      app.add_option("--concurrency", flags.concurrency,
                     "closed loop: so many clients, each one request at a time (default: 1)")
          ->check(CLI::Range(1, most_clients));
  CLI::Option* rate =
      app.add_option("--rate", flags.rate,
                     "open loop: requests per second, at random times (Poisson); inf: all at once")
          ->excludes(concurrency);
  CLI::Option* trace =
      app.add_option("--trace", flags.trace,
                     "a recorded trace: its arrivals (with --concurrency: a closed "
                     "loop), lengths and shared blocks")
          ->excludes(rate);
  app.add_option("--speed", flags.speed, "replay the trace so many times faster")
      ->check(number_between(1e-6, 1e6))
      ->needs(trace)
      ->excludes(concurrency);
  app.add_option("--requests", flags.requests,
                 "how many (default: all of a file or of the shared prefixes; else 10 per client, "
                 "at least 100)")
      ->check(CLI::Range(int64_t{1}, most_requests));
  app.add_option("--duration", flags.duration, "send none after this time: 60s, 5min");
  app.add_option("--background", flags.background,
                 "a second load beside it: rate=0.2,input=30K,output=16 (or concurrency=2,…)");
}

void add_request_flags(CLI::App& app, BenchFlags& flags) {
  CLI::Option* trace = app.get_option("--trace");
  CLI::Option* prompts =
      app.add_option("--prompts", flags.prompts, "JSON lines with prompt or messages")
          ->excludes(trace);
  app.add_option("--input", flags.input,
                 "tokens of a prompt: 128, 20..3000, 512~128 (mean ~ deviation), or a mixture by "
                 "weight, 128:9,3000:1")
      ->capture_default_str()
      ->excludes(trace)
      ->excludes(prompts);
  app.add_option("--output", flags.output, "tokens of an answer, likewise")
      ->capture_default_str()
      ->excludes(trace);
  app.add_option(
         "--shared-prefix", flags.shared_prefix,
         "150x5x1500: 150 groups of 5 prompts that share 1500 tokens, in front of --input's")
      ->excludes(trace)
      ->excludes(prompts);
  app.add_option("--endpoint", flags.endpoint, "completions or chat")
      ->capture_default_str()
      ->check(CLI::IsMember({"completions", "chat"}));
  app.add_option("--model", flags.model, "default: the first that the server lists");
  app.add_flag("--ignore-eos", flags.ignore_eos,
               "answers of exactly the asked length, where the server knows ignore_eos");
  app.add_option("--temperature", flags.temperature, "default: the server's own")
      ->check(number_between(0.0, 100.0));
  app.add_option("--extra", flags.extra, R"(more fields of each request: '{"top_k": 40}')");
  app.add_option("--cancel-fraction", flags.cancel_fraction,
                 "hang up on this share of the requests, each after a drawn number of tokens")
      ->check(number_between(0.0, 1.0));
  app.add_option("--warmup", flags.warm_up, "requests that are answered first and not counted")
      ->check(CLI::Range(int64_t{0}, most_requests));
  app.add_option("--seed", flags.seed, "of arrivals, lengths, prompts and cancels")
      ->capture_default_str();
  app.add_option("--timeout", flags.timeout, "give a request up after so long without a byte")
      ->capture_default_str();
}

void add_report_flags(CLI::App& app, BenchFlags& flags) {
  CLI::Option* goodput = app.add_option("--goodput", flags.goodput,
                                        "count requests within ttft:500ms,tpot:50ms,e2e:30s");
  app.add_option("--ttft", flags.ttft, "the same bound by itself: 500ms")->excludes(goodput);
  app.add_option("--tpot", flags.tpot, "likewise: 50ms")->excludes(goodput);
  app.add_flag("--json", flags.json, "print JSON");
  app.add_option("--csv", flags.csv, "write a line for each request to this file");
  app.add_option("--save", flags.save, "write all of it, each token's arrival too, as JSON");
}

double rate_of(std::string_view text, const char* what) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  double rate = 0.0;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), rate, std::chars_format::fixed);
  if (status != std::errc() || end != text.data() + text.size() || !(rate >= 1e-6 && rate <= 1e6)) {
    throw_bad_input(fmt::format("{}: '{:.60}' is not a rate", what, text),
                    "write requests per second: 2.5, or inf for all at once", what);
  }
  return rate;
}

int clients_of(std::string_view text, const char* what) {
  const int64_t clients = parse_count(text, what);
  if (clients > most_clients) {
    throw_bad_input(fmt::format("{}: at most {} clients", what, most_clients), "", what);
  }
  return static_cast<int>(clients);
}

// "a=1,b=2,3,c=4": a part without a name belongs to the value before it.
std::vector<std::pair<std::string, std::string>> named_values(std::string_view text,
                                                              const char* what) {
  std::vector<std::pair<std::string, std::string>> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = part.find('=');
    if (equals != std::string_view::npos) {
      values.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    } else if (!values.empty()) {
      values.back().second += "," + std::string(part);
    } else {
      throw_bad_input(fmt::format("{}: cannot read '{:.60}'", what, text),
                      "write rate=0.2,input=30K,output=16", what);
    }
  }
  return values;
}

int64_t requests_of(const BenchFlags& flags, const load::WorkloadSpec& spec) {
  if (flags.requests > 0) return flags.requests;
  if (!spec.trace.rows.empty()) return std::ssize(spec.trace.rows);
  if (!flags.duration.empty()) return most_requests;
  if (!spec.prompts.empty()) return std::ssize(spec.prompts);
  if (spec.shared.groups > 0) return spec.shared.groups * spec.shared.prompts;
  return std::max(int64_t{100}, int64_t{10} * spec.concurrency);
}

}  // namespace

void add_bench_flags(CLI::App& app, BenchFlags& flags) {
  app.add_option("URL", flags.url, "http://127.0.0.1:8000")->required();
  add_arrival_flags(app, flags);
  add_request_flags(app, flags);
  add_report_flags(app, flags);
}

load::WorkloadSpec bench_workload(const BenchFlags& flags) {
  load::WorkloadSpec spec;
  spec.seed = flags.seed;
  spec.concurrency = flags.concurrency;
  if (!flags.rate.empty()) spec.rate = rate_of(flags.rate, "--rate");
  if (!flags.trace.empty()) spec.trace = load::read_trace(flags.trace);
  if (spec.concurrency == 0 && flags.rate.empty() && flags.trace.empty()) spec.concurrency = 1;
  spec.speed = flags.speed;
  if (!flags.duration.empty()) spec.duration_s = parse_seconds(flags.duration, "--duration");
  spec.input = load::Lengths::parse(flags.input, "--input");
  spec.output = load::Lengths::parse(flags.output, "--output");
  if (!flags.shared_prefix.empty()) {
    spec.shared = load::SharedPrefix::parse(flags.shared_prefix, "--shared-prefix");
  }
  if (!flags.prompts.empty()) spec.prompts = load::read_prompts(flags.prompts, flags.is_chat());
  spec.cancel_fraction = flags.cancel_fraction;
  spec.requests = requests_of(flags, spec);
  return spec;
}

std::optional<load::WorkloadSpec> bench_background(const BenchFlags& flags) {
  if (flags.background.empty()) return std::nullopt;
  constexpr const char* what = "--background";
  load::WorkloadSpec spec;
  spec.concurrency = 0;
  spec.seed = flags.seed + 1;  // other prompts than the load's own
  for (const auto& [name, value] : named_values(flags.background, what)) {
    if (name == "rate") {
      spec.rate = rate_of(value, what);
    } else if (name == "concurrency") {
      spec.concurrency = clients_of(value, what);
    } else if (name == "input") {
      spec.input = load::Lengths::parse(value, what);
    } else if (name == "output") {
      spec.output = load::Lengths::parse(value, what);
    } else if (name == "requests") {
      spec.requests = parse_count(value, what);
    } else {
      throw_bad_input(fmt::format("{}: there is no '{:.60}'", what, name),
                      "it has rate or concurrency, input, output, requests", what);
    }
  }
  const bool is_open = spec.rate > 0.0;
  if (is_open == (spec.concurrency > 0)) {
    throw_bad_input(fmt::format("{}: give either rate or concurrency", what),
                    "write rate=0.2,input=30K,output=16", what);
  }
  if (spec.rate > 1e6 && spec.requests > most_requests) {
    throw_bad_input(fmt::format("{}: rate=inf has no end", what), "add requests=8", what);
  }
  return spec;
}

load::Goal bench_goal(const BenchFlags& flags) {
  if (!flags.goodput.empty()) return load::Goal::parse(flags.goodput, "--goodput");
  load::Goal goal;
  if (!flags.ttft.empty()) goal.ttft_s = parse_seconds(flags.ttft, "--ttft");
  if (!flags.tpot.empty()) goal.tpot_s = parse_seconds(flags.tpot, "--tpot");
  return goal;
}

Json bench_members(const BenchFlags& flags, const std::string& model) {
  Json members = {
      {"model", model}, {"stream", true}, {"stream_options", {{"include_usage", true}}}};
  if (flags.ignore_eos) members["ignore_eos"] = true;
  if (flags.temperature) members["temperature"] = *flags.temperature;
  if (flags.extra.empty()) return members;
  const Json extra = parse_json(flags.extra, "--extra");
  if (!extra.is_object()) throw_bad_input("--extra: not a JSON object", R"(write '{"top_k": 40}')");
  for (const auto& [key, value] : extra.items()) {
    for (const char* own : {"prompt", "messages", "max_tokens", "stream"}) {
      if (key == own) throw_bad_input(fmt::format("--extra: {} is this program's to set", key));
    }
    members[key] = value;
  }
  return members;
}

}  // namespace dure
