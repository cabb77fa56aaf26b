// See private_folder.h.
#include "group/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "group/child_process.h"

namespace dure {
namespace {

// In clock ticks since boot, as /proc has it; together with the pid it names a process for good.
std::optional<uint64_t> start_time_of(int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // The command, in parentheses, may hold anything; the 20th field after it is the start time.
  size_t at = text.rfind(')');
  for (int field = 0; at != std::string::npos && field < 20; ++field) at = text.find(' ', at + 1);
  if (at == std::string::npos) return std::nullopt;
  uint64_t ticks = 0;
  const auto [end, error] = std::from_chars(&text[at + 1], text.data() + text.size(), ticks);
  if (error != std::errc()) return std::nullopt;
  return ticks;
}

std::string prefix() {
  return fmt::format("dure-{}-", getuid());
}

struct Owner {
  int64_t pid = 0;
  uint64_t start = 0;
};

// nullopt for names that are not exactly ours: those are left alone.
std::optional<Owner> owner_of(std::string_view name) {
  const std::string ours = prefix();
  if (!name.starts_with(ours)) return std::nullopt;
  const char* at = name.data() + ours.size();
  const char* end = name.data() + name.size();
  uint64_t numbers[3];
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != '-')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return Owner{static_cast<int64_t>(numbers[0]), numbers[1]};
}

}  // namespace

void remove_stale_folders(const std::filesystem::path& base) {
  std::error_code ignored;
  std::vector<std::filesystem::path> stale;
  for (std::filesystem::directory_iterator it(base, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    const auto owner = owner_of(it->path().filename().native());
    if (owner && start_time_of(owner->pid) != owner->start) stale.push_back(it->path());
  }
  for (const auto& path : stale) std::filesystem::remove_all(path, ignored);
}

PrivateFolder::PrivateFolder(const std::filesystem::path& base) {
  remove_stale_folders(base);
  static std::atomic<int> count = 0;
  path_ = base / fmt::format("{}{}-{}-{}", prefix(), getpid(), start_time_of(getpid()).value_or(0),
                             count++);
  int ends[2];
  if (mkdir(path_.c_str(), 0700) != 0 || pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::failed,
                fmt::format("cannot make folder {}: {}", path_.string(), std::strerror(errno)),
                "set TMPDIR to a folder that can be written to");
  }
  const Descriptor read_end(ends[0]);
  alive_ = Descriptor(ends[1]);
  SpawnOptions helper;
  // Twice, a second apart: processes that are being killed may still have been making files.
  helper.command = {"/bin/sh", "-c",
                    "cd /; trap '' HUP INT TERM; read -r _; rm -rf -- \"$0\"; sleep 1; "
                    "rm -rf -- \"$0\"",
                    path_.string()};
  helper.input = read_end.get();
  try {
    helper_ = spawn(helper);
  } catch (const Error&) {
    rmdir(path_.c_str());
    throw;
  }
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  kill(helper_, SIGKILL);
  reap(helper_);
}

}  // namespace dure
