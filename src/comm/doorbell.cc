// See doorbell.h.
#include "comm/doorbell.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.h"

namespace dure {
namespace {

std::filesystem::path path_of(const std::filesystem::path& folder, int rank) {
  return folder / fmt::format("bell-{}", rank);
}

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.size() >= sizeof address.sun_path) {
    throw Error(ErrorCode::failed, fmt::format("socket path {} is too long", text),
                "set TMPDIR to a folder with a shorter name");
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

Descriptor datagram_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

timespec to_timespec(std::chrono::duration<double> time) {
  const double seconds = std::clamp(time.count(), 0.0, 1e6);
  const auto whole = static_cast<time_t>(seconds);
  return {whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
}

}  // namespace

Doorbell::Doorbell(const std::filesystem::path& folder, int rank)
    : folder_(folder), rank_(rank), bell_(datagram_socket()) {
  const std::filesystem::path path = path_of(folder, rank);
  const sockaddr_un address = address_of(path);
  if (!bell_ ||
      bind(bell_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw Error(ErrorCode::failed,
                fmt::format("cannot make socket {}: {}", path.string(), std::strerror(errno)));
  }
}

Doorbell::~Doorbell() {
  unlink(path_of(folder_, rank_).c_str());
}

bool Doorbell::connect(int ranks) {
  ropes_.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    const sockaddr_un address = address_of(path_of(folder_, rank));
    const Descriptor& rope = ropes_.emplace_back(datagram_socket());
    if (!rope ||
        ::connect(rope.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return false;
    }
  }
  return true;
}

void Doorbell::ring(int rank) {
  // The one failure of a bell that is there is that it holds no more rings: it wakes its rank
  // without this one.
  (void)send(ropes_[static_cast<size_t>(rank)].get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool Doorbell::answer() {
  bool rung = false;
  char ring = 0;
  while (recv(bell_.get(), &ring, 1, MSG_DONTWAIT) > 0) rung = true;
  return rung;
}

bool Doorbell::sleep(int descriptor, std::chrono::duration<double> at_most) {
  pollfd watched[2] = {{bell_.get(), POLLIN, 0}, {descriptor, POLLIN, 0}};
  const timespec time = to_timespec(at_most);
  return ppoll(watched, 2, &time, nullptr) > 0 && watched[1].revents != 0;
}

}  // namespace dure
