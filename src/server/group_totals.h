// What ranks have measured since the server started: a group that is started again counts from
// zero, and these sums go on. What a group measured after its last word is lost with it.
#pragma once

#include "protocol/messages.h"

namespace dure {

class GroupTotals {
 public:
  void heard(GroupStats now) { running_ = std::move(now); }
  void group_ended();
  GroupStats sum() const;

 private:
  GroupStats ended_;    // of all groups that are gone
  GroupStats running_;  // as last heard
};

}  // namespace dure
