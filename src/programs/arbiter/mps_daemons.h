#pragma once
// Knows the MPS servers of the node among the processes of Pods.
//
// Our supervisor of the control daemons (agent/mps) holds the lock of a file in their folder for as
// long as it serves. The kernel tells who that is. Its servers descend from it: it takes daemons
// that lose their parent as children of its own. So a process is a server when it or one that it
// descends from holds that lock, whatever its name is and whatever its container has mounted. Each
// release of the supervisor takes the lock (docs/decisions/0048-mps-supervisor.md).
//
// While nobody holds the lock and the folder says `.ready`, daemons of NVIDIA's own supervisor
// serve. They are known by the folder, which is mounted in their container.
//
// Immutable: any thread may use it.

#include <filesystem>
#include <optional>

#include "arbiter/node_folder.h"
#include "base/fs.h"
#include "host/process.h"

namespace tranche::arbiter {

class MpsDaemons {
 public:
  // `folder`: its path here.
  MpsDaemons(FsRoot host, std::filesystem::path folder);

  // Who serves at this moment.
  struct Serving {
    std::optional<pid_t> supervisor{};
    bool is_foreign = false;  // NVIDIA's supervisor, or none that we know
  };
  Serving serving() const;
  // For Serving::is_foreign.
  bool is_mounted(const host::ProcessFacts& facts) const { return place_.is_mounted(facts); }

 private:
  FsRoot host_;
  std::filesystem::path folder_;
  NodeFolder place_;
};

}  // namespace tranche::arbiter
