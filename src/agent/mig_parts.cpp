#include "agent/mig_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include "host/device_holders.h"
#include "process/driver_lock.h"

namespace tranche::agent {
namespace {

// A change of a layout waits for its texts, so they are tried again soon.
constexpr std::chrono::seconds kPause{2};

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

// Where it cannot be read, every boot is the same one.
std::string boot_id(const FsRoot& host) {
  auto text = host.read(kBootId).value_or("unknown");
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

}  // namespace

MigParts::MigParts(const std::shared_ptr<nvml::Connection>& connection, ClusterNode& node,
                   const config::Sources& sources, const config::AgentOptions& options,
                   const Clock& clock, const Log& log)
    : control_(connection),
      program_(
          {.environment = sources.environment, .driver_root = connection->options().driver_root}),
      reset_(connection, program_),
      node_(node.node()),
      writer_(node.objects(), options.node_name, "the change of the MIG layout is not on the Node",
              clock, log, kPause),
      host_(options.host_root),
      driver_lock_(options.state_dir + "/tenants/" + process::kDriverLock) {}

std::vector<std::string> MigParts::users_of(const gpu::Gpu& gpu) const {
  std::vector<std::string> users;
  const auto found = host::device_holders(host_, host::device_nodes(gpu), ::getpid());
  if (!found) return users;
  for (const auto& holder : found->holders) {
    users.push_back(fmt::format("{} (pid {})", holder.name, holder.pid));
  }
  return users;
}

MigPorts MigParts::ports() {
  return {.control = control_,
          .reset = reset_,
          .node = [this] { return node_.known(); },
          .write = [this](const NodeWriter::Change& change,
                          const cluster::Call& call) { return writer_.write(change, call); },
          .boot = [this] { return boot_id(host_); },
          .users = [this](const gpu::Gpu& gpu) { return users_of(gpu); },
          .quiet = [this](const std::stop_token& stop) -> Result<std::shared_ptr<void>> {
            return process::DriverPause::take(driver_lock_, process::kLongestLetGo, stop);
          }};
}

}  // namespace tranche::agent
