// See keeper.h.
#include "keeper/keeper.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <utility>

#include "base/error.h"
#include "keeper/keeper_socket.h"

namespace dure {
namespace {

constexpr std::chrono::milliseconds look_interval{1000};  // at the parent

struct Kept {
  Descriptor file;
  KeptRecord record;
};

class Keeper {
 public:
  void serve(int socket) {
    std::optional<ReceivedMessage> request = receive_message(socket);
    if (!request) return;
    KeeperMessage answer;
    answer.rank = request->message.rank;
    int file = -1;
    switch (request->message.call) {
      case KeeperCall::take:
        if (const auto at = kept_.find(answer.rank); at != kept_.end()) {
          answer.done = 1;
          answer.record = at->second.record;
          file = at->second.file.get();
        }
        break;
      case KeeperCall::keep:
        if (holds(*request)) {
          answer.done = 1;
          kept_[answer.rank] = {std::move(request->file), request->message.record};
        }
        break;
      case KeeperCall::drop:
        answer.done = 1;
        kept_.erase(answer.rank);
        break;
      case KeeperCall::answer:
        break;
    }
    send_message(socket, answer, file);
  }

 private:
  // Whether what it brings is as large as it says.
  static bool holds(const ReceivedMessage& request) {
    struct stat facts {};
    return request.file && fstat(request.file.get(), &facts) == 0 &&
           request.message.record.bytes <= facts.st_size;
  }

  std::map<int, Kept> kept_;  // by rank
};

}  // namespace

int run_keeper(const std::string& name) {
  prctl(PR_SET_NAME, "dure-keeper");
  const pid_t parent = getppid();
  const Descriptor listening = listen_as_keeper(name);
  Keeper keeper;
  while (getppid() == parent) {
    // mpirun's daemons read what this writes: a pipe without a reader has lost its daemon.
    pollfd watched[2] = {{listening.get(), POLLIN, 0}, {STDERR_FILENO, 0, 0}};
    if (poll(watched, 2, static_cast<int>(look_interval.count())) <= 0) continue;
    if ((watched[1].revents & POLLERR) != 0) break;
    if ((watched[0].revents & POLLIN) == 0) continue;
    const Descriptor socket = accept_from_user(listening.get());
    if (!socket) continue;
    try {
      keeper.serve(socket.get());
    } catch (const Error&) {
      // The rank has died meanwhile: nobody is left to tell.
    }
  }
  return 0;
}

}  // namespace dure
