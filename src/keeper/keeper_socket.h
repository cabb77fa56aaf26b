// What ranks and the keeper of their host say to each other: one request and one answer of fixed
// size on each connection, with the descriptor of a segment beside it. Sockets have abstract names
// (unix(7)): nothing is left in any folder, whoever dies how. Only processes of the same user are
// listened to.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"

namespace dure {

struct KeptRecord {
  std::array<uint64_t, 2> identity{};  // of what the weights were made from, and how
  int64_t bytes = 0;
  uint64_t checksum = 0;  // checksum_of the bytes
};

enum class KeeperCall : uint32_t { take = 1, keep = 2, drop = 3, answer = 4 };

struct KeeperMessage {
  static constexpr uint32_t right_version = 0x314b5544;  // "DUK1"

  uint32_t version = right_version;
  KeeperCall call = KeeperCall::answer;
  int32_t rank = -1;
  uint32_t done = 0;  // of an answer: 1 if it was; a take without it: nothing is kept
  KeptRecord record;
};

// How long one side waits for the other, which may have been stopped.
inline constexpr std::chrono::seconds keeper_patience{2};

// Throw failed naming the reason. A name is of at most 64 letters.
Descriptor listen_as_keeper(const std::string& name);
Descriptor connect_to_keeper(const std::string& name);

// The next process of this user that has connected; nothing if there is none.
Descriptor accept_from_user(int listening);

pid_t peer_of(int socket);  // the process that has connected

// Throws failed when it cannot be sent within the patience. `file` goes along if it is not -1.
void send_message(int socket, const KeeperMessage& message, int file);

struct ReceivedMessage {
  KeeperMessage message;
  Descriptor file;
};
// Nothing if no whole message of this version comes within the patience.
std::optional<ReceivedMessage> receive_message(int socket);

}  // namespace dure
