// See metrics_page.h. Every name is in docs/operations.md.
#include "server/metrics_page.h"

#include <fmt/format.h>

#include <numeric>

#include "server/metrics_text.h"

namespace dure {
namespace {

std::string rank_label(int32_t rank) {
  return label("rank", fmt::format("{}", rank));
}

void add_engine(MetricsText& text, const EngineStatus& status) {
  const auto one = [&](const char* name, const char* type, const char* help, auto value) {
    text.single(name, type, help, value);
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
  text.sample(label("finished_reason", "stop"), status.counts.finished_stop);
  text.sample(label("finished_reason", "length"), status.counts.finished_length);
  text.sample(label("finished_reason", "abort"), status.counts.cancelled);
  text.sample(label("finished_reason", "error"), status.counts.failed);
  text.family("dure:group_restarts_total", "counter",
              "Times the group of ranks was started again, by what it had ended of.");
  for (size_t cause = 0; cause < end_causes; ++cause) {
    text.sample(label("cause", to_string(static_cast<EndCause>(cause))), status.restarts[cause]);
  }
  one("dure:replayed_tokens_total", "counter",
      "Tokens computed again because the ranks that held them had died.", status.replayed_tokens);
  one("vllm:num_preemptions_total", "counter", "Requests sent back for others to have room.",
      status.schedule.preemptions);
  one("vllm:prefix_cache_queries_total", "counter", "Tokens of requests that were looked for.",
      status.schedule.prefix_queries);
  one("vllm:prefix_cache_hits_total", "counter", "Tokens of them that were found in the cache.",
      status.schedule.prefix_hits);
  text.family("dure:kv_pages", "gauge", "Pages of the KV cache of all dp groups.");
  text.sample(label("state", "held"), status.schedule.held_pages);
  text.sample(label("state", "cached"), status.schedule.idle_pages);
  text.sample(label("state", "free"),
              status.total_pages - status.schedule.held_pages - status.schedule.idle_pages);
  one("dure:last_progress_seconds", "gauge",
      "Since a step was done, while one is out; 0 while nothing is to be done.", status.stalled_s);
  one("dure:group_ready", "gauge", "1 while the group of ranks is ready.",
      int64_t{status.state == GroupState::ready ? 1 : 0});
}

void add_histograms(MetricsText& text, const RequestHistograms& seen) {
  text.single_histogram("vllm:time_to_first_token_seconds", "From a request to its first token.",
                        seen.first_token);
  text.single_histogram("vllm:inter_token_latency_seconds", "From a token to the next.",
                        seen.between_tokens);
  text.single_histogram("vllm:e2e_request_latency_seconds", "From a request to its last token.",
                        seen.whole);
  text.single_histogram("vllm:request_queue_time_seconds", "From a request to its first step.",
                        seen.queue);
  text.single_histogram("vllm:request_prefill_time_seconds",
                        "From the first step to the first token.", seen.prefill);
  text.single_histogram("vllm:request_decode_time_seconds", "From the first token to the last.",
                        seen.decode);
  text.single_histogram("vllm:request_prompt_tokens", "Tokens of a request's prompt.",
                        seen.prompt_tokens);
  text.single_histogram("vllm:request_generation_tokens", "Tokens of a request's answer.",
                        seen.completion_tokens);
  text.single_histogram("vllm:iteration_tokens_total", "Tokens of a step.", seen.step_tokens);
  text.family("dure:step_seconds", "histogram",
              "A step's time by what it held: prompts, single tokens of running sequences, both.");
  for (size_t kind = 0; kind < step_kinds; ++kind) {
    text.histogram(label("phase", to_string(static_cast<StepKind>(kind))), seen.step_seconds[kind]);
  }
}

void add_expert_tokens(MetricsText& text, const std::vector<RankStats>& ranks, bool each_expert) {
  text.family("dure:expert_tokens_total", "counter", "Token slots that experts computed.");
  for (const RankStats& rank : ranks) {
    int64_t sum = 0;
    for (const ExpertLoad& load : rank.experts) {
      sum = std::accumulate(load.tokens.begin(), load.tokens.end(), sum);
      for (size_t i = 0; each_expert && i < load.tokens.size(); ++i) {
        text.sample(fmt::format("layer=\"{}\",expert=\"{}\",{}", load.layer,
                                load.first + static_cast<int32_t>(i), rank_label(rank.rank)),
                    load.tokens[i]);
      }
    }
    if (!each_expert && !rank.experts.empty()) text.sample(rank_label(rank.rank), sum);
  }
}

void add_ranks(MetricsText& text, const RankMeasures& measures, bool each_expert) {
  const std::vector<RankStats>& ranks = measures.totals.ranks;
  add_expert_tokens(text, ranks, each_expert);
  text.family("dure:expert_imbalance_ratio", "gauge",
              "The busiest rank's token slots of a layer over the mean of its ranks, lately.");
  for (const ExpertBalance::Ratio& each : measures.imbalance) {
    text.sample(label("layer", fmt::format("{}", each.layer)), each.ratio);
  }
  text.single("dure:expert_slots_dropped_total", "counter",
              "Token slots that found their expert full and were left out.",
              measures.totals.dropped_slots);
  text.single("dure:expert_slots_moved_total", "counter",
              "Token slots that found their expert full and went to another.",
              measures.totals.moved_slots);
  text.family("dure:collective_bytes_total", "counter", "Bytes that a rank sent to its peers.");
  for (const RankStats& rank : ranks) {
    for (const OpTotals& op : rank.ops) {
      text.sample(label("op", op.op) + "," + rank_label(rank.rank), op.sent_bytes);
    }
  }
  text.family("dure:collective_wait_seconds_total", "counter",
              "Seconds from a rank's having sent its own part to its having everybody's.");
  for (const RankStats& rank : ranks) {
    for (const OpTotals& op : rank.ops) {
      text.sample(label("op", op.op) + "," + rank_label(rank.rank), op.wait_s);
    }
  }
  text.family("dure:rank_seconds_total", "counter",
              "Seconds of steps that went into each part of a rank's work.");
  for (const RankStats& rank : ranks) {
    for (const PartSeconds& part : rank.parts) {
      text.sample(label("part", part.part) + "," + rank_label(rank.rank), part.seconds);
    }
  }
}

}  // namespace

std::string metrics_page(const MetricsPage& page, const EngineStatus& status,
                         const RankMeasures& measures) {
  MetricsText text(label("model_name", page.model));
  add_engine(text, status);
  add_histograms(text, status.histograms);
  add_ranks(text, measures, page.expert_series);
  return text.take();
}

}  // namespace dure
