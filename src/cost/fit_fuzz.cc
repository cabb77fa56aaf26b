// config.json from hostile bytes, through the inventory and the memory model to an answer of `fit`,
// on a layout, memory and load that the same bytes choose: sizes that add up, or an error. Most
// mutations change one value of a document that stays JSON, so that they get past the parser.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "cost/balance.h"
#include "cost/fit.h"
#include "cost/floor.h"
#include "cost/most_bytes.h"
#include "model/load_spec.h"

namespace {

using namespace dure;

// A few bits at a time of a hash (FNV-1a) of the input.
class Choices {
 public:
  explicit Choices(std::string_view text) {
    for (const char c : text) {
      state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  int64_t below(int64_t count) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<int64_t>(state_ >> 33) % count;
  }
  int power_of_two(int most) { return 1 << below(most + 1); }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

FitQuestion question_of(Choices& choices) {
  FitQuestion question;
  question.layout.tp = choices.power_of_two(4);
  question.layout.pp = static_cast<int>(1 + choices.below(4));
  question.layout.dp = choices.power_of_two(3);
  question.layout.ep = choices.below(2) == 0 ? 1 : question.layout.tp * question.layout.dp;
  question.memory_bytes = int64_t{1} << (20 + choices.below(40));
  question.shared = choices.below(4) == 0;
  question.ranks_per_node = static_cast<int>(choices.below(9));
  question.context = choices.below(2) == 0 ? 0 : int64_t{1} << choices.below(31);
  question.sequences = int64_t{1} << choices.below(10);
  question.shape.windows_apart = choices.below(2) == 0;
  question.shape.kv_element_bytes = choices.power_of_two(2);
  question.shape.max_batch_tokens = int64_t{1} << choices.below(21);
  question.shape.overhead = int64_t{1} << choices.below(32);
  constexpr Engine engines[] = {Engine::dure, Engine::vllm, Engine::sglang, Engine::trtllm};
  const Engine engine = engines[choices.below(std::ssize(engines))];
  if (engine == Engine::dure || question.shared) return question;
  EngineRun& run = question.engine.emplace();
  run.profile = engine_profile(engine, "", question.memory_bytes);
  run.gpu_bytes = question.memory_bytes;
  run.max_len = question.context;
  run.batch_tokens = choices.below(2) == 0 ? 0 : question.shape.max_batch_tokens;
  run.kv_element_bytes = question.shape.kv_element_bytes;
  question.shape.page_tokens = run.profile.page_tokens;
  question.shape.overhead = run.profile.context;
  question.utilization = engine_utilization(run, question.layout);
  return question;
}

void check(const RankMemory& memory) {
  for (const int64_t bytes :
       {memory.weights, memory.padding, memory.kv, memory.activation, memory.communication,
        memory.overhead, memory.cuda_graphs, memory.outside}) {
    DURE_CHECK(bytes >= 0 && bytes <= most_bytes);
  }
}

void check(const MemoryModel& model, const FitQuestion& question, const FitAnswer& answer) {
  const auto world = static_cast<size_t>(answer.layout.world());
  DURE_CHECK(answer.ranks.size() == world && answer.tightest < world);
  DURE_CHECK(answer.pages >= 0 && answer.most_pages >= 0 && answer.most_sequences >= 0);
  for (const RankFit& rank : answer.ranks) {
    check(rank.memory);
    DURE_CHECK(!answer.fits || rank.free >= 0);
    DURE_CHECK(rank.free <= question.memory_bytes);
  }
  const int64_t weights = model.all_weights();
  DURE_CHECK(weights > 0 && weights <= most_bytes);
}

void check_times(const ModelSpec& spec, const Layout& layout) {
  GpuSpeed gpu;
  gpu.memory = 1e12;
  gpu.bf16 = gpu.fp8 = gpu.fp4 = 1e15;
  constexpr double tokens = 64.0;
  const Balance balance = balance_of(work_of(spec, layout, Numbers{}), gpu, tokens);
  for (const double each : {balance.dense, balance.experts, balance.whole}) {
    DURE_CHECK(std::isfinite(each) && each >= 0.0);
  }
}

// All values of a document: leaves, lists and objects.
void list_values(Json& value, std::vector<Json*>& values) {
  values.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& each : value) list_values(each, values);
}

void change_value(Json& value, Choices& choices) {
  constexpr double numbers[] = {0,    -1,   1,    2,        3,     7,          64,      1e3,
                                1e30, 1e18, 0.5,  -1e9,     65536, 1073741824, 1 << 18, 1 << 21,
                                1024, 4096, 1e-9, 16777216, 16384, 2147483648, 1.7e308, -0.0};
  constexpr int64_t counts[] = {0,       -1,        1,         2,        3,       5,
                                127,     128,       1024,      4096,     1 << 18, 1 << 21,
                                1 << 24, INT32_MAX, INT64_MAX, INT64_MIN};
  const bool number = value.is_number_integer();
  const auto count = number ? value.get<int64_t>() : 0;
  switch (choices.below(number ? 8 : 5)) {
    case 0:
      value = nullptr;
      break;
    case 1:
      value = numbers[choices.below(std::ssize(numbers))];
      break;
    case 2:
      value = choices.below(2) == 0;
      break;
    case 3:
      value = Json::array({value});
      break;
    case 4:
      if (value.is_structured() && !value.empty()) {
        value.erase(std::next(value.begin(), choices.below(static_cast<int64_t>(value.size()))));
      } else {
        value = "mixtral";
      }
      break;
    case 5:
      value = counts[choices.below(std::ssize(counts))];
      break;
    case 6:
      value = count / (1 + choices.below(8));
      break;
    default:
      value = std::clamp<int64_t>(count, -(1 << 30), 1 << 30) * (1 + choices.below(64)) +
              choices.below(3) - 1;
      break;
  }
}

// Listing the weights of so many experts takes seconds under sanitizers; a test counts the most
// that is accepted.
bool takes_long(const ModelSpec& spec) {
  constexpr int64_t most_experts = 8192;
  int64_t experts = 0;
  for (const LayerSpec& layer : spec.layers) {
    if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) experts += moe->experts;
  }
  return experts > most_experts;
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  Choices choices(std::to_string(seed));
  if (choices.below(8) == 0) return LLVMFuzzerMutate(data, size, most);
  try {
    Json document = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
    std::vector<Json*> values;
    list_values(document, values);
    change_value(*values[static_cast<size_t>(choices.below(std::ssize(values)))], choices);
    const std::string text = document.dump();
    if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
    std::copy(text.begin(), text.end(), data);
    return text.size();
  } catch (const Error&) {
    return LLVMFuzzerMutate(data, size, most);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Choices choices(text);
  try {
    const ModelSpec spec =
        spec_from_config(parse_json(text, "fuzz", {.allow_infinity = true}), "fuzz");
    if (takes_long(spec)) return 0;
    const FitQuestion question = question_of(choices);
    check_layout_for(spec, question.layout);
    const auto formats = known_weight_formats();
    const std::string name =
        formats[static_cast<size_t>(choices.below(static_cast<int64_t>(formats.size())))];
    const MemoryModel model(spec, find_weight_format(name));
    const FitAnswer answer = fit(model, question);
    check(model, question, answer);
    fit_remarks(model, question, answer);
    if (question.engine) {
      DURE_CHECK(engine_capacity(model, *question.engine, question.layout).tokens >= 0);
    }
    const AtBest best = at_best(model, question, 1 + choices.below(1 << 20));
    DURE_CHECK(best.kv_tokens >= 0 && best.sequences >= 0);
    check_times(spec, question.layout);
  } catch (const Error& error) {
    DURE_CHECK(error.code() == ErrorCode::bad_input && !error.message().empty());
  }
  return 0;
}
