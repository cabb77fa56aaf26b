// The processes of one group, from mpirun down: started, listened to, ended. What they say over the
// socket is not for here (group.cc).
#pragma once

#include <sys/types.h>

#include <optional>

#include "group/group.h"
#include "group/private_folder.h"
#include "group/rank_output.h"
#include "group/start_watch.h"
#include "group/stop_watch.h"
#include "protocol/rank_places.h"

namespace dure {

class RankProcesses {
 public:
  // The calling thread must live as long as the ranks: the kernel ends them with it.
  // `keeper` names that of their weights; empty: none.
  RankProcesses(const GroupOptions& options, const std::string& keeper);
  ~RankProcesses();  // kills what is left

  int listening_socket() const { return listening_.get(); }  // rank 0 connects here
  int output() const { return output_read_.get(); }          // readable: call read_output
  int ended() const { return ended_.get(); }                 // readable: mpirun has ended

  void read_output();
  // While the ranks start, every StartWatch::interval: whether mpirun has missed the end of one,
  // which how_it_ended then tells.
  bool has_lost_a_rank();
  // Every StopWatch::interval: whether one of the processes here has been stopped for too long,
  // which how_it_ended then tells.
  bool has_a_stopped_one();
  std::string last_words() const { return lines_.last_words(); }
  // Ends all of them, now. After it, how_it_ended tells.
  void end();
  // Whether mpirun ended by itself, with status 0.
  bool ended_well() const { return status_ == 0; }
  // Of ranks that said nothing themselves. `ready` tells the ranks' process ids.
  GroupFailed how_it_ended(const std::optional<GroupReady>& ready) const;

 private:
  // Process, host and place of failed.rank, as far as they are known.
  void place(GroupFailed& failed, const std::optional<GroupReady>& ready) const;
  // "rank 2 (pid 123 on node1)", as far as that is known.
  std::string name_of(int rank, const std::optional<GroupReady>& ready) const;

  bool all_here_;
  PrivateFolder folder_;
  RankPlaces places_;
  Descriptor listening_;
  Descriptor output_read_;
  RankOutput lines_;
  pid_t mpirun_ = -1;
  Descriptor ended_;
  std::optional<StartWatch> start_watch_;  // where all ranks are children of this mpirun
  std::optional<LostRank> lost_;
  std::optional<StopWatch> stop_watch_;
  std::optional<pid_t> stopped_;
  std::optional<int> status_;  // wait status of mpirun
};

}  // namespace dure
