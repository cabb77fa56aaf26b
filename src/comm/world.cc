// World over Open MPI: start, layout, and the ends, orderly or not. One thread calls all of it.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "comm/backoff.h"
#include "comm/communicator.h"
#include "comm/doorbell.h"
#include "comm/group_communicator.h"
#include "comm/mailbox.h"
#include "comm/mpi_call.h"
#include "protocol/rank_places.h"

namespace dure {
namespace {

constexpr int tp_channel = 1;
constexpr int stage_channel = 2;
constexpr int transfer_channel = 3;

// A probe that answers "nothing" may still have taken something in, for the next to find, and MPI
// tends to some of its sources at every eighth call only.
constexpr int looks_before_sleep = 16;

bool all_agree(bool yes) {
  int all = yes ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD),
            "MPI_Allreduce");
  return all == 1;
}

class MpiWorld final : public World {
 public:
  MpiWorld() {
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    sent_to_.resize(static_cast<size_t>(size_));
    received_from_.resize(static_cast<size_t>(size_));
    transport_.around_each_wait(
        [this](const OpHeader& header, bool begins) { show_wait(header, begins); });
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void set_layout(const Layout& layout, std::chrono::duration<double> deadline) override {
    check_layout(layout);
    if (layout.world() != size_) {
      throw_bad_input(fmt::format("layout {} has {} ranks, but {} were started", to_string(layout),
                                  layout.world(), size_));
    }
    DURE_CHECK(!tp_);
    transport_.set_deadline(deadline);
    show(RankDoes::loads);
    const RankPlace place = place_of(layout, rank_);
    std::vector<int> tp_ranks;
    std::vector<int> stage_ranks;
    for (int dp = 0; dp < layout.dp; ++dp) {
      for (int tp = 0; tp < layout.tp; ++tp) {
        const int peer = rank_of(layout, place.stage, dp, tp);
        stage_ranks.push_back(peer);
        if (dp == place.dp) tp_ranks.push_back(peer);
      }
    }
    tp_ = std::make_unique<GroupCommunicator>(transport_, tp_channel, std::move(tp_ranks), rank_,
                                              place_);
    stage_ = std::make_unique<GroupCommunicator>(transport_, stage_channel, std::move(stage_ranks),
                                                 rank_, place_);
  }

  Communicator& tp() override {
    DURE_CHECK(tp_);
    return *tp_;
  }
  Communicator& stage() override {
    DURE_CHECK(stage_);
    return *stage_;
  }

  void begin_step(uint64_t id) override {
    place_ = {id, -1};
    in_step_ = true;
    clock_.begin_step(id);
    if (spot_ != nullptr) {
      spot_->step = id;
      spot_->layer = -1;
      spot_->kind[0] = '\0';
      show(RankDoes::computes);
    }
    std::fill(sent_to_.begin(), sent_to_.end(), 0);
    std::fill(received_from_.begin(), received_from_.end(), 0);
    if (tp_) tp_->begin_step();
    if (stage_) stage_->begin_step();
  }

  void begin_layer(int layer) override {
    place_.layer = layer;
    clock_.set_layer(layer);
    if (spot_ != nullptr) spot_->layer = layer;
  }

  void end_step() override {
    in_step_ = false;
    clock_.end_step();
    show(RankDoes::rests);
  }

  void show_place_in(const std::filesystem::path& folder) override {
    places_ = RankPlaces::find(folder, size_);
    if (!places_) return;
    spot_ = &places_->spot(rank_);
    spot_->pid = getpid();
  }

  void send(int to, std::span<const std::byte> data, std::string_view what) override {
    check_peer(to);
    transport_.send_copy(transfer_channel, transfer(sent_to_, to, what), {to, data});
  }

  void receive(int from, std::span<std::byte> data, std::string_view what) override {
    check_peer(from);
    const Transport::Receive one[] = {{from, data}};
    transport_.exchange(transfer_channel, transfer(received_from_, from, what), {}, one);
  }

  void post(int to, std::string message) override {
    DURE_CHECK(to >= 0 && to < size_);
    mailbox_.post(to, std::move(message));
  }

  std::optional<Mail> poll_mail() override { return mailbox_.poll(); }

  bool use_doorbells(const std::filesystem::path& folder,
                     std::chrono::duration<double> longest_sleep) override {
    DURE_CHECK(!bell_);
    std::unique_ptr<Doorbell> bell;
    if (transport_.ranks_here() == size_) {
      try {
        bell = std::make_unique<Doorbell>(folder, rank_);
      } catch (const Error&) {
        // Not worth a word: without bells, ranks that wait cost more, and that is all.
      }
    }
    if (!all_agree(bell != nullptr) || !all_agree(bell->connect(size_))) return false;
    bell_ = std::move(bell);
    longest_sleep_ = longest_sleep;
    mailbox_.use(*bell_);
    transport_.after_each_look([this] { mailbox_.ring_again(); });
    return true;
  }

  // No wake-up is lost: whoever has mail rings after it is out, and whoever sleeps has looked
  // for mail, often enough, since the bell last rang.
  std::optional<Mail> wait_mail(int descriptor, std::chrono::duration<double> timeout) override {
    const auto start = Backoff::Clock::now();
    Backoff backoff(idle_wait_policy());
    int looks = 0;  // in vain, since the bell last rang
    for (;;) {
      if (bell_ && bell_->answer()) {
        backoff = Backoff(idle_wait_policy());
        looks = 0;
      }
      if (auto mail = mailbox_.poll()) return mail;
      const std::chrono::duration<double> left = timeout - (Backoff::Clock::now() - start);
      if (left.count() <= 0) return std::nullopt;
      const bool readable = ++looks > looks_before_sleep && backoff.naps() && may_sleep()
                                ? bell_->sleep(descriptor, std::min(left, longest_sleep_))
                                : backoff.pause(descriptor);
      if (readable) return mailbox_.poll();
    }
  }

  std::string place() const override { return places_ ? places_->describe(rank_) : ""; }

  RankWhere where() const override {
    if (places_) return places_->where(rank_);
    if (!in_step_) return {};
    return {static_cast<int64_t>(place_.step), place_.layer, ""};
  }

  CommCounters counters() const override { return transport_.counters(); }
  StepClock& clock() override { return clock_; }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
  }

  void finish() override {
    Backoff backoff(idle_wait_policy());
    bool out = transport_.flush();
    for (; out && !mailbox_.sent(); backoff.pause()) {
      // Mail that still arrives now is for nobody, but must be taken for its sender to end.
      (void)mailbox_.poll();
    }
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
    for (int done = 0; done == 0; backoff.pause()) {
      (void)mailbox_.poll();
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    }
    check_mpi(MPI_Finalize(), "MPI_Finalize");
  }

 private:
  // While messages are under way, other ranks may need this one to look after them.
  bool may_sleep() { return bell_ && mailbox_.quiet() && transport_.sent(); }

  void show(RankDoes does) {
    if (spot_ != nullptr) spot_->does = does;
  }

  void begin_span(const OpHeader& header) {
    char name[64];
    size_t length = 0;
    if (clock_.keeps_spans()) {
      const std::string_view what(header.what, strnlen(header.what, sizeof header.what));
      length = fmt::format_to_n(name, sizeof name, "{} of {}", to_string(header.kind), what).size;
    }
    clock_.begin(StepPart::collectives, {name, std::min(length, sizeof name)}, header.bytes);
  }

  void show_wait(const OpHeader& header, bool begins) {
    begins ? begin_span(header) : clock_.end();
    if (!begins) return show(RankDoes::computes);
    if (spot_ == nullptr) return;
    spot_->operation = header.number;
    const std::string_view kind = to_string(header.kind);
    std::memset(spot_->kind, 0, sizeof spot_->kind);
    std::memcpy(spot_->kind, kind.data(), std::min(kind.size(), sizeof spot_->kind));
    static_assert(sizeof spot_->what >= sizeof header.what);
    std::memcpy(spot_->what, header.what, sizeof header.what);
    show(RankDoes::waits);
  }

  void check_peer(int peer) const { DURE_CHECK(peer >= 0 && peer < size_ && peer != rank_); }

  OpHeader transfer(std::vector<uint64_t>& numbers, int peer, std::string_view what) {
    OpHeader header;
    header.kind = OpKind::stage_transfer;
    header.step = place_.step;
    header.layer = static_cast<int16_t>(place_.layer);
    header.number = numbers[static_cast<size_t>(peer)]++;
    header.name(what);
    return header;
  }

  int rank_ = 0;
  int size_ = 1;
  StepPlace place_;
  bool in_step_ = false;
  StepClock clock_;
  std::optional<RankPlaces> places_;
  RankSpot* spot_ = nullptr;        // this rank's; null: nobody reads it
  std::unique_ptr<Doorbell> bell_;  // null: not all ranks have one
  std::chrono::duration<double> longest_sleep_{0};
  Transport transport_;
  Mailbox mailbox_;
  std::unique_ptr<GroupCommunicator> tp_;
  std::unique_ptr<GroupCommunicator> stage_;
  std::vector<uint64_t> sent_to_;  // transfers in this step, per peer
  std::vector<uint64_t> received_from_;
};

}  // namespace

std::unique_ptr<World> World::start() {
  int started = 0;
  MPI_Initialized(&started);
  DURE_CHECK(started == 0);
  use_fine_timers();
  // Messages of one token's activations go straight through shared memory instead of waiting for
  // the receiver's answer (MPI's default stops at 4 KiB). What the user sets wins.
  setenv("OMPI_MCA_btl_vader_eager_limit", "32768", 0);
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED) {
    throw Error(ErrorCode::failed, "this MPI library does not allow programs with threads");
  }
  return std::make_unique<MpiWorld>();
}

}  // namespace dure
