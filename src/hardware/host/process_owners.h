#pragma once
// Whose a process is: from its control group in /proc, which needs the node's process ids
// (`hostPID`). A process can choose neither. What was read is kept as long as the process lives:
// its start time tells it from a later process with the same id.
//
// Used by one thread.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/fs.h"

namespace tranche::host {

struct Owner {
  enum class Kind {
    kContainer,  // of the Pod `pod_uid`
    kHost,       // in no Pod
    kEnded,      // there is no such process any more
    kUnknown,    // not seen here, or its control group says neither
  };
  Kind kind = Kind::kUnknown;
  std::string pod_uid{};    // as in the control group: for a static Pod the hash of its file
  std::string container{};  // the runtime's id; empty: the group names none
  bool operator==(const Owner&) const = default;
};

class ProcessOwners {
 public:
  // `host`: for /proc.
  explicit ProcessOwners(FsRoot host);

  struct Seen {
    Owner owner;
    std::string name{};  // of its program: at most 15 bytes of any value; empty: not seen here
  };
  Seen look(pid_t pid);
  Owner of(pid_t pid) { return look(pid).owner; }
  // False: only the processes of this process's own container are seen here.
  bool sees_node() const { return sees_node_; }
  // Forgets all others.
  void keep_only(const std::set<pid_t>& pids);

 private:
  struct Known {
    std::uint64_t start_time = 0;
    Owner owner;
  };
  Owner read(pid_t pid) const;

  FsRoot host_;
  bool sees_node_;
  std::map<pid_t, Known> known_;
};

}  // namespace tranche::host
