// See transport.h. A message of up to pack_limit bytes travels as one MPI message behind its header
// and through memory of our own; a longer one as its header, then the data in place, in chunks. The
// data of a long message is only received once its header was found right.
#include "comm/transport.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/backoff.h"
#include "comm/mpi_call.h"

namespace dure {
namespace {

constexpr size_t pack_limit = 16 * 1024;
constexpr size_t chunk_bytes = size_t{64} << 20;  // MPI counts in int; this is far from its end
using Packed = std::unique_ptr<std::byte[]>;      // room for a header and pack_limit bytes
constexpr size_t packed_room = sizeof(OpHeader) + pack_limit;

// A message being received.
struct Incoming {
  Transport::Receive want;
  Packed packed;  // header and short data arrive here
  size_t got = 0;
  bool header_seen = false;
};

// A message being sent whose memory is ours.
struct Outgoing {
  Packed packed;
  std::vector<std::byte> copy;
  std::vector<MPI_Request> requests;
};

}  // namespace

struct Transport::Impl {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int ranks_here = 1;
  std::chrono::duration<double> deadline{30.0};
  WaitPolicy policy;
  std::function<void()> after_look = [] {};
  std::function<void(const OpHeader&, bool)> around_wait = [](const OpHeader&, bool) {};
  CommCounters counters{};
  std::deque<Outgoing> outbox;
  std::vector<Packed> spare;
  // Of one exchange; kept to keep their memory. requests[i] belongs to incoming[i] for i below
  // incoming.size(), then follow the sends in place.
  std::vector<Incoming> incoming;
  std::vector<MPI_Request> requests;
  std::vector<int> request_peer;
  std::vector<int> ready;
  std::vector<MPI_Status> statuses;
  bool broken = false;  // an exchange did not end; its memory may still be in MPI's hands

  Packed take_packed() {
    if (spare.empty()) return std::make_unique_for_overwrite<std::byte[]>(packed_room);
    Packed result = std::move(spare.back());
    spare.pop_back();
    return result;
  }

  MPI_Request start_send(const void* data, size_t size, int to, int channel) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(data, static_cast<int>(size), MPI_BYTE, to, channel, comm, &request),
              "MPI_Isend");
    return request;
  }

  void start_receive(void* data, size_t size, int from, int channel, MPI_Request& request) {
    check_mpi(MPI_Irecv(data, static_cast<int>(size), MPI_BYTE, from, channel, comm, &request),
              "MPI_Irecv");
  }

  // Header, and the data if it is short; both from memory of ours.
  Outgoing start_packed(int channel, const OpHeader& header, const Send& send) {
    Outgoing out;
    out.packed = take_packed();
    std::memcpy(out.packed.get(), &header, sizeof header);
    size_t size = sizeof header;
    if (send.data.size() <= pack_limit && !send.data.empty()) {
      std::memcpy(out.packed.get() + size, send.data.data(), send.data.size());
      size += send.data.size();
    }
    out.requests.push_back(start_send(out.packed.get(), size, send.to, channel));
    counters[index_of(header.kind)].sent_bytes += static_cast<int64_t>(send.data.size());
    return out;
  }

  // Calls take(request) for every chunk of long data.
  template <typename Take>
  void start_long(int channel, const Send& send, Take take) {
    if (send.data.size() <= pack_limit) return;
    for (size_t at = 0; at < send.data.size(); at += chunk_bytes) {
      const size_t n = std::min(chunk_bytes, send.data.size() - at);
      take(start_send(send.data.data() + at, n, send.to, channel));
    }
  }

  // Takes back the memory of what has gone out.
  void reclaim() {
    while (!outbox.empty()) {
      Outgoing& first = outbox.front();
      int done = 0;
      check_mpi(MPI_Testall(static_cast<int>(first.requests.size()), first.requests.data(), &done,
                            MPI_STATUSES_IGNORE),
                "MPI_Testall");
      if (done == 0) return;
      spare.push_back(std::move(first.packed));
      outbox.pop_front();
    }
  }

  // One part of a message has arrived; posts the receive of the next, if there is one.
  void advance(int channel, OpHeader header, size_t index, const MPI_Status& status) {
    Incoming& in = incoming[index];
    const std::span<std::byte> data = in.want.data;
    int count = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    const auto size = static_cast<size_t>(std::max(count, 0));
    if (!in.header_seen) {
      in.header_seen = true;
      OpHeader theirs;
      theirs.magic = 0;
      if (size >= sizeof theirs) std::memcpy(&theirs, in.packed.get(), sizeof theirs);
      header.bytes = static_cast<int64_t>(data.size());
      check_same_operation(rank, header, in.want.from, theirs);
      if (data.size() <= pack_limit) {
        DURE_CHECK(size == sizeof theirs + data.size());
        if (!data.empty()) std::memcpy(data.data(), in.packed.get() + sizeof theirs, data.size());
        in.got = data.size();
      }
      spare.push_back(std::move(in.packed));
    } else {
      in.got += size;
    }
    if (in.got == data.size()) return;
    start_receive(data.data() + in.got, std::min(chunk_bytes, data.size() - in.got), in.want.from,
                  channel, requests[index]);
  }

  [[noreturn]] void give_up(const OpHeader& header) {
    std::string silent;
    std::string deaf;
    int last_deaf = -1;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i] == MPI_REQUEST_NULL) continue;
      const int peer = request_peer[i];
      if (i < incoming.size()) {
        silent += fmt::format("{}{}", silent.empty() ? "" : ", ", peer);
      } else if (peer != last_deaf) {
        deaf += fmt::format("{}{}", deaf.empty() ? "" : ", ", peer);
        last_deaf = peer;
      }
    }
    const std::string whom = silent.empty() ? deaf + " to take data" : silent;
    throw Stalled(ErrorCode::failed,
                  fmt::format("rank {} waited {:.1f} s for rank {} at {}", rank, deadline.count(),
                              whom, describe(header)),
                  "that rank is stopped, far slower than the others, or cut off from them");
  }

  void wait_all(int channel, const OpHeader& header) {
    ready.resize(requests.size());
    statuses.resize(requests.size());
    Backoff backoff(policy);
    for (;;) {
      int done = 0;
      check_mpi(MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &done,
                             ready.data(), statuses.data()),
                "MPI_Testsome");
      after_look();
      if (done == MPI_UNDEFINED) break;  // nothing is left to wait for
      for (int i = 0; i < done; ++i) {
        const auto index = static_cast<size_t>(ready[static_cast<size_t>(i)]);
        if (index < incoming.size()) {
          advance(channel, header, index, statuses[static_cast<size_t>(i)]);
        }
      }
      if (done > 0) continue;
      backoff.pause();
      if (backoff.waited() > deadline) give_up(header);
    }
    counters[index_of(header.kind)].wait_s +=
        std::chrono::duration<double>(backoff.waited()).count();
  }
};

Transport::Transport() : impl_(std::make_unique<Impl>()) {
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &impl_->comm), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(impl_->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(impl_->comm, &impl_->rank), "MPI_Comm_rank");
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(
      MPI_Comm_split_type(impl_->comm, MPI_COMM_TYPE_SHARED, impl_->rank, MPI_INFO_NULL, &host),
      "MPI_Comm_split_type");
  check_mpi(MPI_Comm_size(host, &impl_->ranks_here), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  impl_->policy = step_wait_policy(impl_->ranks_here > available_cores());
}

// Messages still on their way keep their memory: MPI may touch it until the process ends.
Transport::~Transport() {
  if (impl_->broken || !impl_->outbox.empty()) (void)impl_.release();
}

int Transport::ranks_here() const {
  return impl_->ranks_here;
}

void Transport::after_each_look(std::function<void()> call) {
  impl_->after_look = std::move(call);
}

void Transport::around_each_wait(std::function<void(const OpHeader&, bool)> call) {
  impl_->around_wait = std::move(call);
}

void Transport::set_deadline(std::chrono::duration<double> deadline) {
  impl_->deadline = deadline;
}

void Transport::exchange(int channel, OpHeader header, std::span<const Send> sends,
                         std::span<const Receive> receives) {
  Impl& impl = *impl_;
  if (impl.broken) throw Error(ErrorCode::failed, "the group has failed at an earlier operation");
  impl.broken = true;
  impl.reclaim();
  impl.incoming.clear();
  impl.requests.assign(receives.size(), MPI_REQUEST_NULL);
  impl.request_peer.clear();
  for (size_t i = 0; i < receives.size(); ++i) {
    Incoming& in = impl.incoming.emplace_back();
    in.want = receives[i];
    in.packed = impl.take_packed();
    impl.start_receive(in.packed.get(), packed_room, in.want.from, channel, impl.requests[i]);
    impl.request_peer.push_back(in.want.from);
  }
  OpHeader whole = header;
  for (const Send& send : sends) {
    whole.bytes += static_cast<int64_t>(send.data.size());
    header.bytes = static_cast<int64_t>(send.data.size());
    impl.outbox.push_back(impl.start_packed(channel, header, send));
    impl.start_long(channel, send, [&](MPI_Request request) {
      impl.requests.push_back(request);
      impl.request_peer.push_back(send.to);
    });
  }
  impl.around_wait(whole, true);
  impl.wait_all(channel, header);
  impl.around_wait(whole, false);
  impl.broken = false;
}

void Transport::send_copy(int channel, OpHeader header, const Send& send) {
  impl_->reclaim();
  header.bytes = static_cast<int64_t>(send.data.size());
  Outgoing out = impl_->start_packed(channel, header, send);
  if (send.data.size() > pack_limit) {
    out.copy.assign(send.data.begin(), send.data.end());
    impl_->start_long(channel, {send.to, out.copy},
                      [&](MPI_Request request) { out.requests.push_back(request); });
  }
  impl_->outbox.push_back(std::move(out));
}

bool Transport::sent() {
  impl_->reclaim();
  return impl_->outbox.empty();
}

bool Transport::flush() {
  Backoff backoff(impl_->policy);
  for (;;) {
    if (sent()) return true;
    impl_->after_look();
    backoff.pause();
    if (backoff.waited() > impl_->deadline) return false;
  }
}

const CommCounters& Transport::counters() const {
  return impl_->counters;
}

}  // namespace dure
