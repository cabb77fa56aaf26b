// See serve_setup.h.
#include "cli/serve_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file_entry.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/growth_note.h"
#include "cluster/machine_memory.h"
#include "cost/check_fits.h"
#include "model/checkpoint.h"
#include "model/load_spec.h"

namespace dure {
namespace {

constexpr int64_t default_cached_contexts = 16;  // per dp group, where nobody says --kv-memory
constexpr int64_t most_expert_series = 4096;
constexpr int64_t most_pages = int64_t{1} << 26;

int64_t chosen_context(const ServeFlags& flags, const ModelSpec& spec) {
  if (flags.context == 0) return spec.context;
  if (flags.context > spec.context) {
    throw_bad_input(fmt::format("--context {}: the model's config promises {} tokens",
                                flags.context, spec.context),
                    fmt::format("leave it out or take at most {}", spec.context));
  }
  return flags.context;
}

// Of one page, in all ranks that keep it and of all dp groups.
int64_t page_bytes(const ModelSpec& spec, const Layout& layout, const RunShape& shape) {
  int64_t bytes = 0;
  for (int rank = 0; rank < layout.world(); ++rank) {
    bytes += kv_page_bytes(spec, layout, share_of(spec, layout, rank), shape);
  }
  return std::max<int64_t>(bytes, 1);
}

// Of the recurrent states of so many sequences in each dp group, in all ranks.
int64_t kept_bytes(const ModelSpec& spec, const Layout& layout, int64_t sequences) {
  int64_t bytes = 0;
  for (int rank = 0; rank < layout.world(); ++rank) {
    bytes += sequences * state_bytes(spec, layout, share_of(spec, layout, rank));
  }
  return bytes;
}

std::vector<RankMemory> memory_of(const std::vector<Weight>& weights, const ModelSpec& spec,
                                  const Layout& layout, const RunShape& shape) {
  std::vector<RankMemory> memory;
  memory.reserve(static_cast<size_t>(layout.world()));
  for (int rank = 0; rank < layout.world(); ++rank) {
    memory.push_back(rank_memory(weights, spec, layout, rank, shape));
  }
  return memory;
}

// Pages of each dp group: as flagged, or a few whole contexts but no more than half of what the
// weights leave free.
int64_t chosen_pages(const ServeFlags& flags, const std::vector<Weight>& weights,
                     const ModelSpec& spec, RunShape shape, int64_t available, int ranks_here) {
  const Layout& layout = flags.run.layout.layout;
  const int64_t per_page = page_bytes(spec, layout, shape);
  if (!flags.kv_memory.empty()) {
    const int64_t kept = kept_bytes(spec, layout, shape.states);
    const int64_t pages = (parse_bytes(flags.kv_memory, "--kv-memory") - kept) / per_page;
    if (pages < 1) {
      const std::string states = kept == 0
                                     ? ""
                                     : fmt::format("the states of {} sequences take {}, and ",
                                                   shape.states * layout.dp, format_bytes(kept));
      throw_bad_input(
          fmt::format("--kv-memory {}: {}one page of {} tokens takes {}", flags.kv_memory, states,
                      shape.page_tokens, format_bytes(per_page)),
          kept == 0 ? "give more" : "give more, or lower --max-sequences", "kv-memory");
    }
    return pages;
  }
  shape.pages = 0;
  int64_t free = available;
  for (int rank = 0; rank < ranks_here; ++rank) {
    free -= rank_memory(weights, spec, layout, rank, shape).total();
  }
  const int64_t per_page_here = std::max<int64_t>(1, per_page * ranks_here / layout.world());
  const int64_t wanted = default_cached_contexts * sequence_pages(spec, shape);
  return std::clamp<int64_t>(free / 2 / per_page_here, 1, wanted);
}

std::vector<std::string> read_api_keys(const std::filesystem::path& file) {
  if (file.empty()) return {};
  std::ifstream in(file);
  if (!in) throw_bad_input(fmt::format("--api-key-file {}: cannot be read", file.string()));
  std::vector<std::string> keys;
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (!line.empty()) keys.push_back(line);
  }
  if (keys.empty()) {
    throw_bad_input(fmt::format("--api-key-file {}: holds no key", file.string()),
                    "write one key per line");
  }
  return keys;
}

// A model without a template serves plain completions; one whose template cannot be read does not
// start, since its chats would be wrong.
std::shared_ptr<const ChatTemplate> load_template(const std::filesystem::path& folder) {
  return ChatTemplate::is_in(folder) ? ChatTemplate::load(folder) : nullptr;
}

ServedModel served_model(const ServeFlags& flags, const ModelSpec& spec, const RunShape& shape) {
  const std::filesystem::path& folder = flags.run.model;
  ServedModel model;
  model.names = flags.served_names;
  if (std::find(model.names.begin(), model.names.end(), "") != model.names.end()) {
    throw_bad_input("--served-model-name: a name is empty", "leave it out, or give a name");
  }
  if (model.names.empty()) {
    model.names = {std::filesystem::weakly_canonical(folder).filename().string()};
  }
  model.created = std::time(nullptr);
  model.context = static_cast<int32_t>(std::min<int64_t>(shape.context, INT32_MAX));
  const int64_t held = longest_held(page_classes_of(spec, shape), shape.pages, shape.page_tokens,
                                    shape.max_batch_tokens);
  model.longest_sequence = static_cast<int32_t>(std::min<int64_t>(held + 1, INT32_MAX));
  model.vocab = static_cast<int32_t>(spec.vocab);
  model.eos_ids.assign(spec.eos_ids.begin(), spec.eos_ids.end());
  model.defaults = read_sampling_defaults(folder);
  model.tokenizer = Tokenizer::load(folder);
  model.chat_template = load_template(folder);
  model.format = served_format(model.chat_template.get(), *model.tokenizer, flags.tool_parser,
                               flags.reasoning_parser);
  return model;
}

// Each expert's series, unless they are too many for who reads them.
bool wants_expert_series(const ServeFlags& flags, const ModelSpec& spec) {
  if (flags.expert_metrics != "auto") return flags.expert_metrics == "experts";
  int64_t series = 0;
  for (const LayerSpec& layer : spec.layers) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    if (moe != nullptr) series += moe->experts * flags.run.layout.layout.etp();
  }
  return series <= most_expert_series;
}

EngineOptions engine_options(const ServeFlags& flags, const ModelSpec& spec,
                             const ServedModel& model, const RunShape& shape) {
  const Layout& layout = flags.run.layout.layout;
  EngineOptions options;
  options.schedule.dp = layout.dp;
  options.schedule.page_tokens = flags.page_tokens;
  options.schedule.pages = static_cast<int32_t>(shape.pages);
  options.schedule.page_classes = page_classes_of(spec, shape);
  options.schedule.max_batch_tokens = flags.max_batch_tokens;
  options.schedule.max_running = flags.max_sequences;
  options.schedule.steps_in_flight = layout.pp;
  options.schedule.stretch = flags.step_stretch;
  options.schedule.share_prefixes = !flags.no_prefix_cache && kept_bytes(spec, layout, 1) == 0;
  options.schedule.recompute_beyond = static_cast<int32_t>(recompute_beyond(spec));
  options.vocab = model.vocab;
  options.max_requests = flags.max_requests;
  // The ranks find out by themselves within the deadline; this is for when they cannot even say so.
  options.step_timeout = std::chrono::milliseconds(std::llround(flags.deadline_s * 2000) + 10'000);
  return options;
}

}  // namespace

ServeSetup prepare(const ServeFlags& flags) {
  const Layout& layout = flags.run.layout.layout;
  ServeSetup setup;
  check_layout_flags(flags.run.layout);
  setup.spec = load_spec(flags.run.model);
  check_layout_for(setup.spec, layout);
  check_expert_capacity(flags.run, setup.spec);
  const auto checkpoint = CheckpointReader::open(flags.run.model);
  const std::vector<Weight> weights = bind_inventory(setup.spec, *checkpoint);
  setup.growth = growth_note(weights, *checkpoint, setup.spec,
                             {flags.run.chosen_compute(), flags.run.chosen_quantize()});
  setup.same_bits = keeps_the_same_bits(setup.spec, layout);
  const int64_t context = chosen_context(flags, setup.spec);

  setup.group = flags.run.group_options();
  StartGroup& start = setup.group.start;
  RunShape shape;
  shape.compute = start.compute;
  shape.quantize = start.quantize;
  shape.kv_element_bytes = bytes_of(start.kv_dtype);
  shape.page_tokens = flags.page_tokens;
  shape.states = flags.max_sequences;
  shape.context = context;
  shape.max_batch_tokens = flags.max_batch_tokens;
  const int per_node = flags.run.layout.ranks_per_node;
  const int ranks_here = per_node > 0 ? std::min(per_node, layout.world()) : layout.world();
  const int64_t available = available_memory();
  shape.pages = chosen_pages(flags, weights, setup.spec, shape, available, ranks_here);
  check_fits_this_machine(setup.spec, weights, layout, shape, ranks_here, available);
  if (shape.pages > most_pages) {
    throw_bad_input(fmt::format("--kv-memory {}: {} pages, {} is the most", flags.kv_memory,
                                shape.pages, most_pages));
  }
  setup.memory = memory_of(weights, setup.spec, layout, shape);
  setup.cached_tokens = tokens_held(setup.spec, shape, shape.pages);

  start.page_tokens = flags.page_tokens;
  start.pages = static_cast<int32_t>(shape.pages);
  start.states = flags.max_sequences;
  start.context = static_cast<int32_t>(std::min<int64_t>(context, INT32_MAX));
  start.max_batch_tokens = flags.max_batch_tokens;
  start.deadline_s = flags.deadline_s;
  start.tracing = flags.trace.empty() ? Tracing::off : Tracing::on;
  setup.trace.path = flags.trace;
  setup.trace.most_bytes = parse_bytes(flags.trace_size, "--trace-size");
  setup.model = served_model(flags, setup.spec, shape);
  setup.engine = engine_options(flags, setup.spec, setup.model, shape);
  setup.api.api_keys = read_api_keys(flags.api_key_file);
  setup.api.expert_series = wants_expert_series(flags, setup.spec);
  setup.http.host = flags.host;
  setup.http.port = static_cast<uint16_t>(flags.port);
  setup.http.max_connections = flags.max_connections;
  setup.http.max_body_bytes = static_cast<uint64_t>(parse_bytes(flags.max_body, "--max-body"));
  setup.http.idle_timeout = std::chrono::milliseconds(std::llround(flags.idle_timeout_s * 1000));
  setup.http.cors_origins = flags.cors_origins;
  return setup;
}

}  // namespace dure
