// See messages.h. The fields of each message, in the order they travel.
#include "protocol/messages.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "protocol/wire.h"

namespace dure {

template <typename T, typename Message>
concept Is = std::same_as<std::remove_const_t<T>, Message>;

static void visit_fields(auto& wire, Is<Layout> auto& m) {
  wire("tp", m.tp);
  wire("pp", m.pp);
  wire("dp", m.dp);
  wire("ep", m.ep);
}

static void visit_fields(auto& wire, Is<StartGroup> auto& m) {
  wire.constant("protocol version", protocol_version);
  wire("model", m.model);
  visit_fields(wire, m.layout);
  wire.choice("compute", m.compute, Compute::fp32);
  wire.choice("quantize", m.quantize, CodeFormat::q4);
  wire.choice("kv_dtype", m.kv_dtype, DType::fp8);
  wire("page_tokens", m.page_tokens);
  wire("pages", m.pages);
  wire("context", m.context);
  wire("states", m.states);
  wire("max_batch_tokens", m.max_batch_tokens);
  wire("threads", m.threads);
  wire("deadline_s", m.deadline_s);
  wire("capacity factor", m.capacity.factor);
  wire.choice("capacity overflow", m.capacity.overflow, ExpertOverflow::next);
  wire.choice("tracing", m.tracing, Tracing::on);
}

static void visit_fields(auto& wire, Is<LogitBias> auto& m) {
  wire("biased token", m.token);
  wire("bias", m.bias);
}

static void visit_fields(auto& wire, Is<std::vector<int32_t>> auto& m) {
  wire("bad word", m);
}

static void visit_fields(auto& wire, Is<SamplingParams> auto& m) {
  wire("temperature", m.temperature);
  wire("top_p", m.top_p);
  wire("min_p", m.min_p);
  wire("top_k", m.top_k);
  wire("seed", m.seed);
  wire("presence_penalty", m.presence_penalty);
  wire("frequency_penalty", m.frequency_penalty);
  wire("repetition_penalty", m.repetition_penalty);
  wire("logit_bias", m.logit_bias);
  wire("allowed_ids", m.allowed_ids);
  wire("bad_words", m.bad_words);
  wire("min_tokens", m.min_tokens);
  wire("stop_ids", m.stop_ids);
  wire("logprobs", m.logprobs);
  wire("prompt_logprobs", m.prompt_logprobs);
}

static void visit_fields(auto& wire, Is<SequenceSetup> auto& m) {
  visit_fields(wire, m.sampling);
  wire("prompt_tokens", m.prompt_tokens);
  wire("history", m.history);
}

static void visit_fields(auto& wire, Is<PageTable> auto& m) {
  wire("first", m.first);
  wire("pages", m.pages);
}

static void visit_fields(auto& wire, Is<Slice> auto& m) {
  wire("sequence", m.sequence);
  wire("dp", m.dp);
  wire("start", m.start);
  wire("tokens", m.tokens);
  wire("tables", m.tables);
  wire("length", m.length);
  wire("state", m.state);
  wire.choice("want", m.want, Want::all_logits);
  wire("setup", m.setup);
  wire("next_token", m.next_token);
  wire("mask", m.mask);
}

static void visit_fields(auto& wire, Is<Step> auto& m) {
  wire("id", m.id);
  wire("slices", m.slices);
}

static void visit_fields(auto&, Is<StopGroup> auto&) {}

static void visit_fields(auto&, Is<AskStats> auto&) {}

static void visit_fields(auto&, Is<AskClock> auto&) {}

static void visit_fields(auto& wire, Is<LoadProgress> auto& m) {
  wire("bytes_done", m.bytes_done);
  wire("bytes_total", m.bytes_total);
}

static void visit_fields(auto& wire, Is<RankReport> auto& m) {
  wire("rank", m.rank);
  wire("pid", m.pid);
  wire("host", m.host);
  wire("isa", m.isa);
  wire("weight_bytes", m.weight_bytes);
  wire("kv_bytes", m.kv_bytes);
  wire("activation_bytes", m.activation_bytes);
  wire("communication_bytes", m.communication_bytes);
  wire("peak_rss_bytes", m.peak_rss_bytes);
  wire("load_s", m.load_s);
  wire("kept_bytes", m.kept_bytes);
  wire("weights_checksum", m.weights_checksum);
}

static void visit_fields(auto& wire, Is<GroupReady> auto& m) {
  wire("ranks", m.ranks);
}

static void visit_fields(auto& wire, Is<TracedSlice> auto& m) {
  wire("vocab", m.vocab);
  wire("moe_layers", m.moe_layers);
  wire("top_k", m.top_k);
  wire("logits", m.logits);
  wire("expert_ids", m.expert_ids);
  wire("expert_weights", m.expert_weights);
}

static void visit_fields(auto& wire, Is<TopLogprob> auto& m) {
  wire("top token", m.token);
  wire("top logprob", m.logprob);
}

static void visit_fields(auto& wire, Is<TokenLogprobs> auto& m) {
  wire("logprobs token", m.token);
  wire("logprob", m.logprob);
  wire("rank", m.rank);
  wire("top", m.top);
}

static void visit_fields(auto& wire, Is<SliceResult> auto& m) {
  wire("sequence", m.sequence);
  wire("token", m.token);
  wire("trace", m.trace);
  wire("logprobs", m.logprobs);
  wire("prompt_logprobs", m.prompt_logprobs);
}

static void visit_fields(auto& wire, Is<StepDone> auto& m) {
  wire("id", m.id);
  wire("seconds", m.seconds);
  wire("slices", m.slices);
}

static void visit_fields(auto& wire, Is<RankWhere> auto& m) {
  wire("step", m.step);
  wire("layer", m.layer);
  wire("operation", m.operation);
}

static void visit_fields(auto& wire, Is<GroupFailed> auto& m) {
  wire("rank", m.rank);
  wire("code", m.code);
  wire("message", m.message);
  wire("hint", m.hint);
  wire.choice("cause", m.cause, EndCause::lost_connection);
  wire("pid", m.pid);
  wire("host", m.host);
  visit_fields(wire, m.where);
}

static void visit_fields(auto& wire, Is<OpTotals> auto& m) {
  wire("op", m.op);
  wire("sent_bytes", m.sent_bytes);
  wire("wait_s", m.wait_s);
}

static void visit_fields(auto& wire, Is<PartSeconds> auto& m) {
  wire("part", m.part);
  wire("seconds", m.seconds);
}

static void visit_fields(auto& wire, Is<ExpertLoad> auto& m) {
  wire("layer", m.layer);
  wire("first", m.first);
  wire("tokens", m.tokens);
}

static void visit_fields(auto& wire, Is<RankStats> auto& m) {
  wire("rank", m.rank);
  wire("ops", m.ops);
  wire("parts", m.parts);
  wire("experts", m.experts);
}

static void visit_fields(auto& wire, Is<GroupStats> auto& m) {
  wire("ranks", m.ranks);
  wire("dropped_slots", m.dropped_slots);
  wire("moved_slots", m.moved_slots);
}

static void visit_fields(auto& wire, Is<std::string> auto& m) {
  wire("name", m);
}

static void visit_fields(auto& wire, Is<Span> auto& m) {
  wire("span's step", m.step);
  wire("begin", m.begin_ns);
  wire("length", m.length_ns);
  wire("bytes", m.bytes);
  wire("span's layer", m.layer);
  wire("span's name", m.name);
  wire.choice("part", m.part, StepPart::sampling);
}

static void visit_fields(auto& wire, Is<RankSpans> auto& m) {
  wire("rank", m.rank);
  wire("lost", m.lost);
  wire("names", m.names);
  wire("spans", m.spans);
}

static void visit_fields(auto& wire, Is<ClockTold> auto& m) {
  wire("rank", m.rank);
  wire("ns", m.ns);
  wire("within_ns", m.within_ns);
}

namespace {

// A frame's kind is its direction's base plus the message's place in the variant; a message sent
// the wrong way is therefore refused by its kind alone.
struct ToRanksKinds {
  static constexpr uint8_t base = 0x10;
  static constexpr std::array names = {"StartGroup", "Step", "StopGroup", "AskStats", "AskClock"};
};
struct FromRanksKinds {
  static constexpr uint8_t base = 0x40;
  static constexpr std::array names = {"LoadProgress", "GroupReady", "StepDone", "GroupFailed",
                                       "GroupStats",   "RankSpans",  "ClockTold"};
};

template <typename Kinds, typename Variant>
std::string encode_frame(const Variant& message) {
  static_assert(Kinds::names.size() == std::variant_size_v<Variant>);
  Writer wire;
  wire("length", uint32_t{0});  // filled in below
  wire("kind", static_cast<uint8_t>(Kinds::base + message.index()));
  std::visit([&](const auto& m) { visit_fields(wire, m); }, message);
  std::string frame = wire.take();
  const size_t length = frame.size() - sizeof(uint32_t);
  if (length > max_frame_bytes) {
    throw Error(ErrorCode::failed,
                fmt::format("message {} takes {} bytes, more than the {} of one frame",
                            Kinds::names[message.index()], length, max_frame_bytes));
  }
  const auto wide = static_cast<uint32_t>(length);
  std::memcpy(frame.data(), &wide, sizeof wide);
  return frame;
}

template <typename Kinds, typename Variant>
Variant decode_frame(std::span<const std::byte> frame) {
  if (frame.empty()) throw Error(ErrorCode::failed, "message is cut short in field kind: no bytes");
  const auto kind = std::to_integer<uint8_t>(frame[0]);
  std::optional<Variant> result;
  [&]<size_t... i>(std::index_sequence<i...>) {
    auto read = [&]<size_t at>(std::integral_constant<size_t, at>) {
      if (kind != Kinds::base + at) return;
      Reader wire(Kinds::names[at], frame.subspan(1));
      visit_fields(wire, std::get<at>(result.emplace(std::in_place_index<at>)));
      wire.expect_end();
    };
    (read(std::integral_constant<size_t, i>{}), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Variant>>{});
  if (!result) {
    throw Error(ErrorCode::failed, fmt::format("message kind {:#04x} is not known here", kind));
  }
  return std::move(*result);
}

}  // namespace

std::string_view to_string(EndCause cause) {
  switch (cause) {
    case EndCause::failed:
      return "failed";
    case EndCause::killed:
      return "killed";
    case EndCause::stopped:
      return "stopped";
    case EndCause::exited:
      return "exited";
    case EndCause::out_of_memory:
      return "out_of_memory";
    case EndCause::stalled:
      return "stalled";
    case EndCause::lost_connection:
      return "lost_connection";
  }
  return "failed";
}

std::string encode(const ToRanks& message) {
  return encode_frame<ToRanksKinds>(message);
}

std::string encode(const FromRanks& message) {
  return encode_frame<FromRanksKinds>(message);
}

ToRanks decode_to_ranks(std::span<const std::byte> frame) {
  return decode_frame<ToRanksKinds, ToRanks>(frame);
}

FromRanks decode_from_ranks(std::span<const std::byte> frame) {
  return decode_frame<FromRanksKinds, FromRanks>(frame);
}

}  // namespace dure
