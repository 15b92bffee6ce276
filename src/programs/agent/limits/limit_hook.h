#pragma once
// Installs the container runtime's hook (hook/) on the host: the program at <state folder>/hook/,
// and the CDI specification that names it. Kubelet replays a grant's CDI devices whenever it
// restarts the container, and a container does not start if no specification has its device. So
// both stay as long as a grant names the device.
//
// TenantManager's threads use it in turn (its turns_). None of them answers a call of kubelet.

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

  // Installs both unless they are there already, each in one step. Errors: there is no program at
  // `source`, or a folder cannot be written.
  Result<void> install();
  // The hook as a container's CDI file has it.
  cdi::Hook hook() const;
  // Whether the file of a claim (cdi/claim_spec.h) has the hook, or cannot be read.
  bool is_claimed() const;
  // Removes both. Returns what it removed, for people.
  Result<std::vector<std::string>> remove();

 private:
  std::filesystem::path program() const;

  Options options_;
  FsRoot fs_;
  std::string installed_;  // content of the installed program
};

// The path of the hook's program, next to the limiter's library.
std::filesystem::path hook_next_to(const std::filesystem::path& library);

}  // namespace tranche::agent
