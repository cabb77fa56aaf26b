// The keeper of this host, as a rank sees it.
#pragma once

#include <optional>
#include <string>

#include "base/descriptor.h"
#include "keeper/keeper_socket.h"

namespace dure {

class KeeperClient {
 public:
  KeeperClient(std::string name, int rank) : name_(std::move(name)), rank_(rank) {}

  struct Kept {
    Descriptor file;
    KeptRecord record;
  };
  // What was kept for this rank, if anything. All of these throw failed, within seconds, where
  // there is no keeper that answers.
  std::optional<Kept> take() const;
  // In place of what was kept for this rank before.
  void keep(int file, const KeptRecord& record) const;
  void drop() const;

 private:
  KeeperMessage ask(KeeperCall call, const KeptRecord& record, int file, Descriptor* given) const;

  std::string name_;
  int rank_;
};

}  // namespace dure
