// See obtain_weights.h.
#include "engine/obtain_weights.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "keeper/checksum.h"
#include "keeper/keeper_client.h"

namespace dure {
namespace {

class Obtaining {
 public:
  Obtaining(const WeightRequest& request, std::atomic<int64_t>* bytes_read)
      : request_(request), bytes_read_(bytes_read) {
    result_.plan = plan_of(request.residents);
    if (request.keeper.empty()) return;
    keeper_.emplace(request.keeper, request.origin.rank);
    record_.identity = identity_of(request.origin, request.residents);
    record_.bytes = result_.plan.bytes;
  }

  ObtainedWeights run() {
    if (!keeper_ || !take()) load();
    return std::move(result_);
  }

 private:
  bool take() {
    const auto begin = std::chrono::steady_clock::now();
    try {
      std::optional<KeeperClient::Kept> kept = keeper_->take();
      if (!kept) return false;
      const std::string fault = fault_of(*kept);
      if (!fault.empty()) {
        result_.memory.reset();
        keeper_->drop();  // before there is a second copy
        request_.say(
            fmt::format("warning: weights that were kept in memory {}: reading the "
                        "checkpoint",
                        fault));
        return false;
      }
    } catch (const Error& error) {
      request_.say(fmt::format("warning: kept weights cannot be had ({}): reading the checkpoint",
                               error.message()));
      result_.memory.reset();
      return false;
    }
    result_.kept = true;
    result_.checksum = record_.checksum;
    *bytes_read_ += bytes_to_read(request_.residents);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    request_.say(
        fmt::format("note: {} of weights were kept in memory, checked in {} (xxh3 {:016x})",
                    format_bytes(record_.bytes), format_seconds(spent.count()), record_.checksum));
    return true;
  }

  // Why they cannot be used; empty: they are mapped and right.
  std::string fault_of(KeeperClient::Kept& kept) {
    if (kept.record.identity != record_.identity || kept.record.bytes != record_.bytes) {
      return "are of other files, or of another layout";
    }
    result_.memory = std::make_unique<Segment>(std::move(kept.file), record_.bytes);
    record_.checksum = checksum_of(result_.memory->bytes(), request_.threads);
    if (record_.checksum == kept.record.checksum) return "";
    return fmt::format("have changed there (xxh3 {:016x}, not {:016x})", record_.checksum,
                       kept.record.checksum);
  }

  void load() {
    result_.memory = std::make_unique<Segment>(result_.plan.bytes, keeper_.has_value());
    Segment& memory = *result_.memory;
    load_weights(request_.checkpoint, request_.residents, result_.plan, request_.threads, memory,
                 bytes_read_);
    memory.freeze();
    if (!keeper_) return;
    if (memory.has_small_pages()) {
      request_.say(
          "note: the kernel gives weights that shall outlive the ranks no pages of 2 MiB, "
          "so that steps are slower (Linux 6.1 does; or `echo advise > "
          "/sys/kernel/mm/transparent_hugepage/shmem_enabled`)");
    }
    record_.checksum = checksum_of(memory.bytes(), request_.threads);
    result_.checksum = record_.checksum;
    give();
  }

  void give() {
    try {
      if (result_.memory->file() < 0) {
        throw Error(ErrorCode::failed, "no shared memory: see `ulimit -f`");
      }
      keeper_->keep(result_.memory->file(), record_);
    } catch (const Error& error) {
      request_.say(
          fmt::format("warning: the weights will not outlive this rank ({}): a restart "
                      "will read the checkpoint",
                      error.message()));
    }
  }

  const WeightRequest& request_;
  std::atomic<int64_t>* bytes_read_;
  std::optional<KeeperClient> keeper_;
  KeptRecord record_;
  ObtainedWeights result_;
};

}  // namespace

ObtainedWeights obtain_weights(const WeightRequest& request, std::atomic<int64_t>* bytes_read) {
  return Obtaining(request, bytes_read).run();
}

}  // namespace dure
