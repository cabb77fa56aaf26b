// Doorbells for the programs that test ranks: a folder of their own, and sleeps without end, so
// that a lost wake-up is a failure and not a delay.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "comm/communicator.h"

namespace dure {

// On every rank. `everywhere`: else the last rank has no folder for its bell.
inline bool use_test_bells(World& world, bool everywhere) {
  std::string folder = "/tmp/dure-bells-XXXXXX";
  if (world.rank() == 0) {
    if (mkdtemp(folder.data()) == nullptr) world.abort(1);
    for (int to = 1; to < world.size(); ++to) world.post(to, folder);
  } else {
    const auto mail = world.wait_mail(-1, std::chrono::minutes(1));
    if (!mail) world.abort(1);
    folder = mail->message;
  }
  const bool last = world.rank() == world.size() - 1;
  const bool used =
      world.use_doorbells(last && !everywhere ? folder + "/none" : folder, std::chrono::hours(24));
  // Sockets need their names no longer once all ranks are connected. Ranks that are not remove
  // theirs meanwhile.
  std::error_code ignored;
  while (world.rank() == 0 && std::filesystem::exists(folder, ignored)) {
    std::filesystem::remove_all(folder, ignored);
  }
  return used;
}

}  // namespace dure
