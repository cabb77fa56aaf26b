// A rank for the tests of Group: MPI, socket and guards as dure-rank has them, but no model. The
// "model" of StartGroup says how it behaves; a Step is answered with the sums of its tokens.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>

#include "base/error.h"
#include "comm/communicator.h"
#include "comm/rank_guard.h"
#include "protocol/frame_socket.h"

namespace dure {
namespace {

class FakeRank {
 public:
  FakeRank(World& world, const char* front_path) : world_(world) {
    world_.show_place_in(std::filesystem::path(front_path).parent_path());
    if (world_.rank() != 0) return;
    front_ = connect_to(front_path);
    watch_.emplace(front_.get());
  }

  void run() {
    const auto start = std::get<StartGroup>(order());
    world_.set_layout(start.layout, std::chrono::seconds(20));
    load(start.model);
    for (;;) {
      const ToRanks message = order();
      if (std::holds_alternative<StopGroup>(message)) break;
      if (const auto* step = std::get_if<Step>(&message)) answer(*step);
      if (std::holds_alternative<AskStats>(message)) tell(GroupStats{{}, 2, 3});
    }
    if (start.model == "never-ends") sleep_for_ever();
    watch_.reset();
    front_.reset();
    world_.finish();
  }

 private:
  // The next message of the front: rank 0 reads it and hands it to the others.
  ToRanks order() {
    if (world_.rank() != 0) {
      for (;;) {
        const auto mail = world_.wait_mail(-1, std::chrono::seconds(1));
        if (mail) return decode_to_ranks(std::as_bytes(std::span(mail->message)));
      }
    }
    for (;;) {
      if (const auto frame = reader_.next()) {
        const std::string text(reinterpret_cast<const char*>(frame->data()), frame->size());
        for (int r = 1; r < world_.size(); ++r) world_.post(r, text);
        return decode_to_ranks(*frame);
      }
      world_.wait_mail(front_.get(), std::chrono::seconds(1));
      read_available(front_.get(), reader_);
    }
  }

  void tell(const FromRanks& message) {
    if (world_.rank() == 0) send_frame(front_.get(), encode(message));
  }

  [[noreturn]] void sleep_for_ever() {
    for (;;) pause();
  }

  void load(const std::string& model) {
    if (model == "bad") {
      tell(GroupFailed{1, static_cast<uint8_t>(ErrorCode::bad_input), "model bad has no weights",
                       "download it again"});
      world_.abort(2);
    }
    if (model == "garbage" && world_.rank() == 0) {
      const char bytes[] = "\x03\0\0\0\xff\xff\xff";
      send_frame(front_.get(), std::string_view(bytes, 7));
      sleep_for_ever();
    }
    if (model == "exits" && world_.rank() == 1) {
      std::fprintf(stderr, "the disk is on fire\n");
      _exit(9);
    }
    if (model == "noisy") std::fprintf(stderr, "a word of rank %d\n", world_.rank());
    tell(LoadProgress{1, 2});
    // Every rank's pid, for tests that kill: as reports, from all to rank 0.
    world_.post(0, std::to_string(getpid()));
    if (world_.rank() == 0) {
      GroupReady ready;
      ready.ranks.resize(static_cast<size_t>(world_.size()));
      for (int seen = 0; seen < world_.size();) {
        const auto mail = world_.wait_mail(-1, std::chrono::seconds(1));
        if (!mail) continue;
        RankReport& report = ready.ranks[static_cast<size_t>(mail->from)];
        report.rank = mail->from;
        report.pid = std::atoi(mail->message.c_str());
        ++seen;
      }
      if (model != "loads-for-ever") tell(ready);
    }
    if (model == "loads-for-ever") sleep_for_ever();
  }

  void answer(const Step& step) {
    world_.begin_step(step.id);
    // All ranks take part, as in a real step.
    std::vector<float> ones(100, 1.0f);
    world_.tp().all_reduce_tree(ones, "fake step");
    StepDone done;
    done.id = step.id;
    for (const Slice& slice : step.slices) {
      const int sum = std::accumulate(slice.tokens.begin(), slice.tokens.end(), 0);
      done.slices.push_back({slice.sequence, sum, std::nullopt});
    }
    world_.end_step();
    tell(done);
  }

  World& world_;
  Descriptor front_;
  std::optional<FrontWatch> watch_;
  FrameReader reader_;
};

}  // namespace
}  // namespace dure

int main(int argc, char** argv) {
  dure::die_with_parent();
  if (argc != 3) return 2;
  try {
    const auto world = dure::World::start();
    dure::FakeRank(*world, argv[2]).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
}
