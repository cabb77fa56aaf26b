// Who goes from waiting to running: the order, the dp group, and the room made for a better class.
#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace dure {

void Scheduler::admit() {
  // Of each line, the first that was not passed over because it waits for another's pages.
  std::vector<std::pair<const Lines::key_type*, Line::iterator>> next;
  for (auto& [key, line] : lines_) next.emplace_back(&key, line.begin());
  while (waiting_ > 0) {
    size_t best = next.size();
    std::optional<std::tuple<int64_t, bool, double, uint64_t>> first;
    for (size_t i = 0; i < next.size(); ++i) {
      if (next[i].second == lines_.at(*next[i].first).end()) continue;
      const Sequence& head = sequences_.at(next[i].second->second);
      const std::tuple rank(effective_class(head), !head.preempted, head.tenant->served,
                            head.arrival);
      if (first && *first <= rank) continue;
      first = rank;
      best = i;
    }
    if (best == next.size()) break;
    const uint64_t id = next[best].second->second;
    Sequence& sequence = sequences_.at(id);
    if (sequence.held) {
      ++next[best].second;
      continue;
    }
    Offer offer = best_offer(sequence);
    if (offer.promised > 0) {
      ++next[best].second;
      continue;
    }
    const int64_t rank = std::get<0>(*first);
    if (!offer.fits && !make_room(sequence, rank, offer)) break;
    // make_room() adds to lines, which moves no iterator of another element.
    Line& line = lines_.at(sequence.line);
    next[best].second = line.erase(next[best].second);
    enter(id, sequence, std::move(offer), rank);
  }
  std::erase_if(lines_, [](const auto& line) { return line.second.empty(); });
}

// Its class, or a better one that others' service has brought it to: half way to the best that
// waits again and again, so that whoever waits gets there from any class. Never better than that
// one, so that within a class it is the tenants' shares that count.
int64_t Scheduler::effective_class(const Sequence& sequence) const {
  const int64_t own = sequence.line.first;
  if (options_.aging_tokens < 1) return own;
  const auto waits = [](const auto& line) { return !line.second.empty(); };
  const auto first = std::find_if(lines_.begin(), lines_.end(), waits);
  const int64_t best = first == lines_.end() ? own : first->first.first;
  constexpr int64_t most_halvings = 32;  // of any distance of two classes
  const int64_t halvings = (served_ - sequence.served_then) / options_.aging_tokens;
  return best + (std::max<int64_t>(own - best, 0) >> std::min(halvings, most_halvings));
}

Scheduler::Offer Scheduler::best_offer(Sequence& sequence) {
  if (options_.share_prefixes) {
    // The two kinds of rotation give different keys. Nothing else that a client can choose, such
    // as its name, is in here: whoever wants no sharing says so by a salt.
    const bool beyond = options_.recompute_beyond > 0 &&
                        static_cast<int32_t>(sequence.tokens.size()) > options_.recompute_beyond;
    std::string root = (beyond ? "long " : "short ") + sequence.cache_salt;
    if (sequence.keys.root != root) sequence.keys = {std::move(root), {}};
    sequence.keys.extend(sequence.tokens, options_.page_tokens);
  }
  Offer best;
  for (int32_t dp = 0; dp < options_.dp; ++dp) {
    Offer offer = offer_of(dp, sequence);
    if (dp == 0 || std::pair(!offer.fits, offer.load) < std::pair(!best.fits, best.load)) {
      best = std::move(offer);
    }
  }
  return best;
}

Scheduler::Offer Scheduler::offer_of(int32_t dp, const Sequence& sequence) const {
  const Group& group = groups_[static_cast<size_t>(dp)];
  const auto length = static_cast<int64_t>(sequence.tokens.size());
  Offer offer;
  offer.dp = dp;
  if (options_.share_prefixes && !sequence.whole_prompt) {
    // The last token is computed in any case: its logits are wanted.
    const auto most = static_cast<size_t>((length - 1) / options_.page_tokens);
    offer.prefix = group.pages.find(sequence.keys, sequence.tokens, most);
    auto known = static_cast<size_t>(offer.prefix.blocks);
    while (known < most && group.promised.contains(sequence.keys.hashes[known])) {
      ++known;
      ++offer.promised;
    }
  }
  offer.prefix.runs.resize(options_.page_classes.size());
  offer.load =
      group.tokens + length - (offer.prefix.blocks + offer.promised) * options_.page_tokens;
  for (size_t c = 0; c < options_.page_classes.size(); ++c) {
    const BlockRun& run = offer.prefix.runs[c];
    offer.pages +=
        options_.page_classes[c].tables * (entry_blocks(c, run.first, length) - run.end());
  }
  const int64_t needed =
      offer.pages + group.pages.count_idle(offer.prefix.runs) + reserve(group.order.size());
  offer.fits = group.states.available() > 0 && needed <= group.pages.available();
  return offer;
}

// By sending back sequences of worse classes, where that is enough.
bool Scheduler::make_room(const Sequence& sequence, int64_t rank, Offer& offer) {
  for (int32_t dp = 0; dp < options_.dp; ++dp) {
    Group& group = groups_[static_cast<size_t>(dp)];
    std::vector<uint64_t> victims;
    int64_t pages = group.pages.available();
    size_t running = group.order.size();
    const Offer wanted = offer_of(dp, sequence);
    const int64_t needed = wanted.pages + group.pages.count_idle(wanted.prefix.runs);
    for (auto last = group.order.rbegin(); last != group.order.rend(); ++last) {
      if (last->first.first <= rank) break;
      const Sequence& victim = sequences_.at(last->second);
      if (victim.in_flight > 0) continue;
      victims.push_back(last->second);
      pages += group.pages.count_held_once(victim.runs);
      --running;
      if (needed + reserve(running) > pages) continue;
      for (const uint64_t id : victims) preempt(id);
      offer = offer_of(dp, sequence);
      return offer.fits && offer.promised == 0;
    }
  }
  return false;
}

// Each running sequence may soon need a block more of every class.
int64_t Scheduler::reserve(size_t running) const {
  int64_t pages = 0;
  for (const PageClass& each : options_.page_classes) pages += each.tables;
  return pages * static_cast<int64_t>(running);
}

// Up to which block of a class a sequence with so many tokens has pages when it is admitted.
int64_t Scheduler::entry_blocks(size_t of_class, int64_t first, int64_t tokens) const {
  const int64_t most =
      options_.page_classes[of_class].most_blocks(options_.page_tokens, options_.max_batch_tokens);
  return std::min(blocks_for(tokens), first + most);
}

void Scheduler::enter(uint64_t id, Sequence& sequence, Offer offer, int64_t rank) {
  const auto length = static_cast<int32_t>(sequence.tokens.size());
  sequence.dp = offer.dp;
  Group& group = group_of(sequence);
  --waiting_;
  group.pages.hold(offer.prefix.runs);
  sequence.runs = std::move(offer.prefix.runs);
  for (size_t c = 0; c < sequence.runs.size(); ++c) {
    BlockRun& run = sequence.runs[c];
    const std::vector<int32_t> more =
        group.pages.allocate(c, entry_blocks(c, run.first, length) - run.end());
    run.blocks.insert(run.blocks.end(), more.begin(), more.end());
  }
  const auto found = static_cast<int32_t>(offer.prefix.blocks);
  sequence.state = group.states.take();
  sequence.cached = found * options_.page_tokens;
  sequence.published = found;
  sequence.node = offer.prefix.node;
  sequence.promised = found;
  if (options_.share_prefixes) {
    sequence.promised = length / options_.page_tokens;
    for (int32_t i = found; i < sequence.promised; ++i) {
      ++group.promised[sequence.keys.hashes[static_cast<size_t>(i)]];
    }
    prefix_queries_ += length;
    prefix_hits_ += sequence.cached;
  }
  if (!sequence.reused) sequence.reused = sequence.cached;
  sequence.running = true;
  sequence.rank = rank;
  sequence.entered = false;
  group.order.insert({place_of(sequence), id});
  group.tokens += length;
  make_ready(id, sequence);
}

}  // namespace dure
