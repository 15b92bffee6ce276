#pragma once
// The MIG profiles that any GPU of this machine can have. Like NVIDIA's plugin, the agent prints a
// resource for each with its configuration.

#include <string>
#include <vector>

#include "config/file/load.h"
#include "gpu/machine.h"

namespace tranche::agent {

class MigProfiles {
 public:
  void note(const gpu::Machine& machine);
  // The configuration as printed: with the profiles' resources if it has none of its own and the
  // strategy is mixed.
  std::string effective(const config::Loaded& loaded) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace tranche::agent
