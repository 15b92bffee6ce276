// `mps-control-daemon mount-shm`: mounts the /dev/shm of containers with MPS.

#include <fmt/format.h>
#include <sys/mount.h>

#include <cerrno>

#include "agent/mps/run_mps_control.h"
#include "base/exit_code.h"
#include "base/fs.h"
#include "base/log.h"
#include "config/programs/agent_options.h"
#include "mps/shm.h"

namespace tranche::agent {
namespace {

Result<void> mount_shm(const config::AgentOptions& options) {
  const auto folder = options.mps_dir + "/shm";
  // Earlier runs may have mounted several layers.
  while (::umount2(folder.c_str(), 0) == 0) {
  }
  TRY(FsRoot().make_directories(folder));
  const auto meminfo = FsRoot(options.host_root).read("/proc/meminfo");
  const auto size = mps::shm_size(meminfo ? *meminfo : std::string());
  if (::mount("shm", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME,
              fmt::format("size={}", size).c_str()) == 0) {
    fmt::print("mounted a tmpfs of {} at {}\n", size, folder);
    return {};
  }
  auto error = errno_error(errno, fmt::format("mount a tmpfs at {}", folder));
  error.hint = "run the container privileged, with the folder mounted bidirectionally";
  return std::unexpected(std::move(error));
}

}  // namespace

int mount_mps_shm(const config::Sources& sources) {
  const auto options = config::load_mps_control_options(sources);
  const auto done = options ? mount_shm(*options) : std::unexpected(options.error());
  if (done) return kExitFine;
  Log().error(done.error());
  return options ? kExitFinding : kExitUsage;
}

}  // namespace tranche::agent
