#pragma once
// Identifies the node's MPS servers among the processes of Pods.
//
// Our supervisor of the control daemons (agent/mps) holds a file lock in their folder for as long
// as it serves. The kernel reports the holder. Its servers descend from it: it adopts daemons that
// lose their parent. So a process is a server when it or one of its ancestors holds that lock,
// whatever its name is and whatever its container has mounted. Every release of the supervisor
// takes the lock (docs/decisions/0048-mps-supervisor.md).
//
// While the lock is free and the folder has `.ready`, daemons of NVIDIA's own supervisor serve.
// They are recognised by the folder, which is mounted in their container.
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

  // The current supervisor.
  struct Serving {
    std::optional<pid_t> supervisor{};
    bool is_foreign = false;  // NVIDIA's supervisor, or an unknown one
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
