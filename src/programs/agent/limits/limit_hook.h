#pragma once
// Installs the container runtime's hook (hook/) on the host: the program at <state folder>/hook/
// and the CDI specification that names it. Kubelet replays a grant's CDI devices whenever it
// restarts the container, and a container without a specification for its device does not start. So
// both stay as long as a grant names the device.
//
// Used by TenantManager under its turns_, never by a thread that answers kubelet.

#include <filesystem>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "cdi/spec.h"

namespace tranche::agent {

class LimitHook {
 public:
  struct Options {
    std::filesystem::path source;     // this release's program
    std::filesystem::path state_dir;  // absolute; the same path on the host as in this container
    std::filesystem::path cdi_root;
  };

  explicit LimitHook(Options options) : options_(std::move(options)) {}

  // Installs both unless they exist, each atomically. Errors: no program at `source`; a folder
  // cannot be written.
  Result<void> install();
  cdi::Hook hook() const;
  // Whether the CDI file of a claim (cdi/claim_spec.h) has the hook, or cannot be read.
  bool is_claimed() const;
  // Removes both. Returns what was removed, for people.
  Result<std::vector<std::string>> remove();

 private:
  std::filesystem::path program() const;

  Options options_;
  FsRoot fs_;
  std::string installed_;  // content of the installed program
};

std::filesystem::path hook_next_to(const std::filesystem::path& library);

}  // namespace tranche::agent
