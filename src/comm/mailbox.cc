// See mailbox.h. A mail is a stream of MPI messages: eight bytes of its length, with the whole mail
// behind them if it is short, else chunks. Messages of one sender are matched, and therefore put
// together, in the order sent.
#include "comm/mailbox.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/mpi_call.h"

namespace dure {
namespace {

constexpr size_t short_bytes = 64 * 1024;
constexpr size_t chunk_bytes = size_t{64} << 20;
constexpr int mail_tag = 1;

struct Outgoing {
  int to = 0;
  std::string first;  // length and, if short, the mail
  std::string rest;
  std::vector<MPI_Request> requests;
};

struct Arriving {  // one MPI message
  int from = 0;
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Partial {  // of one sender
  uint64_t length = 0;
  bool begun = false;
  std::string text;
};

}  // namespace

struct Mailbox::Impl {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  std::deque<Outgoing> outbox;
  std::deque<Arriving> arriving;  // in the order matched
  std::vector<Partial> partials;
  std::deque<World::Mail> ready;
  Doorbell* bell = nullptr;
  std::set<int> unheard;  // receivers of mail that may have come out after their bell rang

  void reclaim() {
    while (!outbox.empty()) {
      auto& requests = outbox.front().requests;
      int done = 0;
      check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                            MPI_STATUSES_IGNORE),
                "MPI_Testall");
      if (done == 0) return;
      outbox.pop_front();
    }
  }

  void start_send(const std::string& text, size_t at, size_t n, int to, Outgoing& out) {
    check_mpi(MPI_Isend(text.data() + at, static_cast<int>(n), MPI_BYTE, to, mail_tag, comm,
                        &out.requests.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Isend");
  }

  // Starts receiving every message that waits outside.
  void match() {
    for (;;) {
      int found = 0;
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      check_mpi(MPI_Improbe(MPI_ANY_SOURCE, mail_tag, comm, &found, &message, &status),
                "MPI_Improbe");
      if (found == 0) return;
      int size = 0;
      check_mpi(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count");
      Arriving& in = arriving.emplace_back();
      in.from = status.MPI_SOURCE;
      in.bytes.resize(static_cast<size_t>(size));
      check_mpi(MPI_Imrecv(in.bytes.data(), size, MPI_BYTE, &message, &in.request), "MPI_Imrecv");
    }
  }

  void put_together(Arriving in) {
    Partial& partial = partials[static_cast<size_t>(in.from)];
    if (!partial.begun) {
      DURE_CHECK(in.bytes.size() >= sizeof partial.length);
      std::memcpy(&partial.length, in.bytes.data(), sizeof partial.length);
      partial.begun = true;
      partial.text = in.bytes.substr(sizeof partial.length);
    } else {
      partial.text += in.bytes;
    }
    DURE_CHECK(partial.text.size() <= partial.length);
    if (partial.text.size() < partial.length) return;
    ready.push_back({in.from, std::exchange(partial, {}).text});
  }

  // Takes what has wholly arrived, except behind an earlier message of the same sender that has
  // not.
  void collect() {
    std::vector<int> held;
    for (auto it = arriving.begin(); it != arriving.end();) {
      if (std::find(held.begin(), held.end(), it->from) != held.end()) {
        ++it;
        continue;
      }
      int done = 0;
      check_mpi(MPI_Test(&it->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0) {
        held.push_back(it->from);
        ++it;
        continue;
      }
      put_together(std::move(*it));
      it = arriving.erase(it);
    }
  }
};

Mailbox::Mailbox() : impl_(std::make_unique<Impl>()) {
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &impl_->comm), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(impl_->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(impl_->comm, &impl_->rank), "MPI_Comm_rank");
  int size = 0;
  check_mpi(MPI_Comm_size(impl_->comm, &size), "MPI_Comm_size");
  impl_->partials.resize(static_cast<size_t>(size));
}

// Messages still on their way keep their memory: MPI may touch it until the process ends.
Mailbox::~Mailbox() {
  if (!impl_->outbox.empty() || !impl_->arriving.empty()) (void)impl_.release();
}

void Mailbox::use(Doorbell& bell) {
  impl_->bell = &bell;
}

void Mailbox::post(int to, std::string message) {
  if (to == impl_->rank) {
    impl_->ready.push_back({to, std::move(message)});
    return;
  }
  impl_->reclaim();
  Outgoing& out = impl_->outbox.emplace_back();
  out.to = to;
  const uint64_t length = message.size();
  out.first.assign(reinterpret_cast<const char*>(&length), sizeof length);
  if (message.size() <= short_bytes) {
    out.first += message;
  } else {
    out.rest = std::move(message);
  }
  impl_->start_send(out.first, 0, out.first.size(), to, out);
  for (size_t at = 0; at < out.rest.size(); at += chunk_bytes) {
    impl_->start_send(out.rest, at, std::min(chunk_bytes, out.rest.size() - at), to, out);
  }
  if (impl_->bell == nullptr) return;
  impl_->unheard.insert(to);
  ring_again();
}

std::optional<World::Mail> Mailbox::poll() {
  impl_->reclaim();
  impl_->match();
  impl_->collect();
  ring_again();
  if (impl_->ready.empty()) return std::nullopt;
  World::Mail mail = std::move(impl_->ready.front());
  impl_->ready.pop_front();
  return mail;
}

bool Mailbox::sent() const {
  return impl_->outbox.empty();
}

bool Mailbox::quiet() const {
  return sent() && impl_->arriving.empty() && impl_->ready.empty() &&
         std::none_of(impl_->partials.begin(), impl_->partials.end(),
                      [](const Partial& partial) { return partial.begun; });
}

void Mailbox::ring_again() {
  if (impl_->unheard.empty()) return;
  impl_->reclaim();
  for (const int to : impl_->unheard) impl_->bell->ring(to);
  impl_->unheard.clear();
  for (const Outgoing& out : impl_->outbox) impl_->unheard.insert(out.to);
}

}  // namespace dure
