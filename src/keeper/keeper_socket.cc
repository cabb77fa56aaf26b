// See keeper_socket.h.
#include "keeper/keeper_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace dure {
namespace {

struct Address {
  sockaddr_un data{};
  socklen_t size = 0;
};

// Abstract: the first byte is zero.
Address address_of(const std::string& name) {
  Address address;
  DURE_CHECK(!name.empty() && name.size() <= 64);
  address.data.sun_family = AF_UNIX;
  std::memcpy(address.data.sun_path + 1, name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

[[noreturn]] void throw_errno(const char* what) {
  throw Error(ErrorCode::failed, fmt::format("{}: {}", what, std::strerror(errno)));
}

Descriptor packet_socket() {
  Descriptor result(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!result) throw_errno("no socket");
  return result;
}

void be_patient(int socket) {
  const timeval limit = {keeper_patience.count(), 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

std::optional<ucred> credentials_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

bool is_of_this_user(int socket) {
  const std::optional<ucred> peer = credentials_of(socket);
  return peer && peer->uid == geteuid();
}

union ControlRoom {  // of one descriptor
  char bytes[CMSG_SPACE(sizeof(int))];
  cmsghdr aligned;
};

}  // namespace

Descriptor listen_as_keeper(const std::string& name) {
  Descriptor result = packet_socket();
  const Address address = address_of(name);
  if (bind(result.get(), reinterpret_cast<const sockaddr*>(&address.data), address.size) != 0 ||
      listen(result.get(), 64) != 0) {
    throw_errno("cannot listen as keeper");
  }
  return result;
}

Descriptor connect_to_keeper(const std::string& name) {
  Descriptor result = packet_socket();
  be_patient(result.get());
  const Address address = address_of(name);
  if (connect(result.get(), reinterpret_cast<const sockaddr*>(&address.data), address.size) != 0) {
    throw_errno("no keeper");
  }
  if (!is_of_this_user(result.get())) {
    throw Error(ErrorCode::failed, "the keeper's name is taken by another user");
  }
  return result;
}

Descriptor accept_from_user(int listening) {
  Descriptor result(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
  if (!result || !is_of_this_user(result.get())) return {};
  be_patient(result.get());
  return result;
}

pid_t peer_of(int socket) {
  const std::optional<ucred> peer = credentials_of(socket);
  return peer ? peer->pid : -1;
}

void send_message(int socket, const KeeperMessage& message, int file) {
  iovec data = {const_cast<KeeperMessage*>(&message), sizeof message};
  ControlRoom room{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (file >= 0) {
    header.msg_control = room.bytes;
    header.msg_controllen = sizeof room.bytes;
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(control), &file, sizeof file);
  }
  if (sendmsg(socket, &header, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof message)) {
    throw_errno("cannot send");
  }
}

std::optional<ReceivedMessage> receive_message(int socket) {
  ReceivedMessage received;
  iovec data = {&received.message, sizeof received.message};
  ControlRoom room{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = room.bytes;
  header.msg_controllen = sizeof room.bytes;
  const ssize_t n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  if (n < 0) return std::nullopt;
  const cmsghdr* control = CMSG_FIRSTHDR(&header);
  if (control != nullptr && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof(int))) {
    int file = -1;
    std::memcpy(&file, CMSG_DATA(control), sizeof file);
    received.file = Descriptor(file);
  }
  if (n != static_cast<ssize_t>(sizeof received.message) ||
      received.message.version != KeeperMessage::right_version) {
    return std::nullopt;
  }
  return received;
}

}  // namespace dure
