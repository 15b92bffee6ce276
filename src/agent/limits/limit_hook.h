#pragma once
// The container runtime's hook (hook/) on the host: the program, at <state folder>/hook/, and the
// CDI specification that names it. Kubelet replays a grant's CDI devices for as long as its
// container is restarted, and a container whose device no specification has does not start, so both
// stay as long as a grant names the device.
//
// Used in turn by TenantManager's threads (its turns_), none of which answers a pod.

#include <filesystem>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

class LimitHook {
 public:
  struct Options {
    std::filesystem::path source;     // the program of this release
    std::filesystem::path state_dir;  // absolute, on the host the same path as here
    std::filesystem::path cdi_root;
  };

  explicit LimitHook(Options options) : options_(std::move(options)) {}

  // Puts both into place, each in one step, unless they are there already. Errors: no program at
  // `source`, or a folder that cannot be written.
  Result<void> install();
  // What it removed.
  Result<std::vector<std::string>> remove();

 private:
  Options options_;
  FsRoot fs_;
  std::string installed_;  // content of the program
};

// Where it lies beside the limiter's library.
std::filesystem::path hook_beside(const std::filesystem::path& library);

}  // namespace tranche::agent
