// GET /health, /version, /metrics: how the server is.
#include <fmt/format.h>

#include "base/error.h"
#include "server/api_handlers.h"

namespace dure {
namespace {

// Prometheus text format 0.0.4.
class MetricsText {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void sample(const std::string& labels, double value) {
    text_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  void sample(const std::string& labels, int64_t value) {
    text_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  // A family of its own.
  void histogram(std::string_view name, const std::string& labels, std::string_view help,
                 const Histogram& values) {
    family(name, "histogram", help);
    int64_t sum = 0;
    for (size_t i = 0; i < values.counts().size(); ++i) {
      sum += values.counts()[i];
      const std::string bound =
          i < values.bounds().size() ? fmt::format("{}", values.bounds()[i]) : "+Inf";
      text_ += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bound, sum);
    }
    text_ +=
        fmt::format("{0}_sum{{{1}}} {2}\n{0}_count{{{1}}} {3}\n", name, labels, values.sum(), sum);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

std::string escaped_label(const std::string& value) {
  std::string escaped;
  for (const char letter : value) {
    if (letter == '\n') {
      escaped += "\\n";
      continue;
    }
    if (letter == '"' || letter == '\\') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

void add_engine(MetricsText& text, const std::string& model, const EngineStatus& status) {
  const auto one = [&](const char* name, const char* type, const char* help, auto value) {
    text.family(name, type, help);
    text.sample(model, value);
  };
  one("vllm:num_requests_running", "gauge", "Requests in the running batch.", status.running);
  one("vllm:num_requests_waiting", "gauge", "Requests waiting for room.", status.waiting);
  const double total = static_cast<double>(status.total_pages);
  one("vllm:kv_cache_usage_perc", "gauge", "Share of the KV cache's pages that are held, 0 to 1.",
      total > 0 ? static_cast<double>(status.schedule.held_pages) / total : 0.0);
  one("vllm:prompt_tokens_total", "counter", "Prompt tokens processed.",
      status.counts.prompt_tokens);
  one("vllm:generation_tokens_total", "counter", "Tokens generated.",
      status.counts.generation_tokens);
  text.family("vllm:request_success_total", "counter", "Requests by how they ended.");
  text.sample(model + ",finished_reason=\"stop\"", status.counts.finished_stop);
  text.sample(model + ",finished_reason=\"length\"", status.counts.finished_length);
  text.sample(model + ",finished_reason=\"abort\"", status.counts.cancelled);
  text.sample(model + ",finished_reason=\"error\"", status.counts.failed);
  one("dure:group_restarts_total", "counter", "Times the group of ranks was started again.",
      int64_t{status.restarts});
  one("dure:replayed_tokens_total", "counter",
      "Tokens computed again because the ranks that held them had died.", status.replayed_tokens);
  one("vllm:num_preemptions_total", "counter", "Requests sent back for others to have room.",
      status.schedule.preemptions);
  one("vllm:prefix_cache_queries_total", "counter", "Tokens of requests that were looked for.",
      status.schedule.prefix_queries);
  one("vllm:prefix_cache_hits_total", "counter", "Tokens of them that were found in the cache.",
      status.schedule.prefix_hits);
  text.family("dure:kv_pages", "gauge", "Pages of the KV cache of all dp groups.");
  text.sample(model + ",state=\"held\"", status.schedule.held_pages);
  text.sample(model + ",state=\"cached\"", status.schedule.idle_pages);
  text.sample(model + ",state=\"free\"",
              status.total_pages - status.schedule.held_pages - status.schedule.idle_pages);
  one("dure:last_progress_seconds", "gauge",
      "Since a step was done, while one is out; 0 while nothing is to be done.", status.stalled_s);
  one("dure:group_ready", "gauge", "1 while the group of ranks is ready.",
      int64_t{status.state == GroupState::ready ? 1 : 0});
}

void add_histograms(MetricsText& text, const std::string& model, const RequestHistograms& seen) {
  text.histogram("vllm:time_to_first_token_seconds", model, "From a request to its first token.",
                 seen.first_token);
  text.histogram("vllm:inter_token_latency_seconds", model, "From a token to the next.",
                 seen.between_tokens);
  text.histogram("vllm:e2e_request_latency_seconds", model, "From a request to its last token.",
                 seen.whole);
  text.histogram("vllm:request_queue_time_seconds", model, "From a request to its first step.",
                 seen.queue);
  text.histogram("vllm:request_prefill_time_seconds", model,
                 "From the first step to the first token.", seen.prefill);
  text.histogram("vllm:request_decode_time_seconds", model, "From the first token to the last.",
                 seen.decode);
  text.histogram("vllm:request_prompt_tokens", model, "Tokens of a request's prompt.",
                 seen.prompt_tokens);
  text.histogram("vllm:request_generation_tokens", model, "Tokens of a request's answer.",
                 seen.completion_tokens);
  text.histogram("vllm:iteration_tokens_total", model, "Tokens of a step.", seen.step_tokens);
}

void add_ranks(MetricsText& text, const std::string& model, const GroupStats& stats) {
  const auto by_rank = [&](const char* name, const char* help, const auto& values) {
    text.family(name, "counter", help);
    for (size_t rank = 0; rank < values.size(); ++rank) {
      text.sample(fmt::format("{},rank=\"{}\"", model, rank), values[rank]);
    }
  };
  by_rank("dure:expert_tokens_total", "Token slots that each rank's experts computed.",
          stats.rank_expert_tokens);
  by_rank("dure:rank_sent_bytes_total", "Bytes each rank sent to others.", stats.rank_sent_bytes);
  by_rank("dure:rank_wait_seconds_total", "Seconds each rank waited for others.",
          stats.rank_wait_s);
  text.family("dure:expert_slots_dropped_total", "counter",
              "Token slots that found their expert full and were left out.");
  text.sample(model, stats.dropped_slots);
  text.family("dure:expert_slots_moved_total", "counter",
              "Token slots that found their expert full and went to another.");
  text.sample(model, stats.moved_slots);
}

}  // namespace

void health(const ApiContext& context, const HttpRequest&,
            const std::shared_ptr<Exchange>& exchange) {
  const EngineStatus status = context.engine.status();
  if (status.state != GroupState::ready) {
    throw Error(ErrorCode::unavailable,
                fmt::format("the model's ranks are {}", to_string(status.state)));
  }
  if (status.stalled_s > context.options.stalled_after_s) {
    throw Error(ErrorCode::unavailable,
                fmt::format("no step has been done for {:.1f} s", status.stalled_s));
  }
  reply_json(*exchange, R"({"status":"ok"})");
}

void version(const ApiContext&, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  reply_json(*exchange, R"({"version":")" DURE_VERSION R"("})");
}

void metrics(const ApiContext& context, const HttpRequest&,
             const std::shared_ptr<Exchange>& exchange) {
  const std::string model =
      fmt::format("model_name=\"{}\"", escaped_label(context.model.names.front()));
  context.engine.ask_stats(
      [&engine = context.engine, model, exchange](const std::optional<GroupStats>& stats) {
        MetricsText text;
        const EngineStatus status = engine.status();
        add_engine(text, model, status);
        add_histograms(text, model, status.histograms);
        if (stats) add_ranks(text, model, *stats);
        HttpResponse response;
        response.content_type = "text/plain; version=0.0.4; charset=utf-8";
        response.body = text.take();
        exchange->reply(std::move(response));
      });
}

}  // namespace dure
