#include "agent/instances/mig_hardware.h"

#include <unistd.h>

#include <utility>

#include "agent/mps/mps_pause.h"
#include "host/device_holders.h"
#include "process/driver_lock.h"

namespace tranche::agent {

MigHardware::MigHardware(const std::shared_ptr<nvml::Connection>& connection, Options options)
    : options_(std::move(options)),
      control_(connection),
      program_(
          {.environment = options_.environment, .driver_root = connection->options().driver_root}),
      reset_(connection, program_),
      host_(options_.host_root),
      reader_(connection) {}

Result<gpu::Machine> MigHardware::read() {
  const std::scoped_lock lock(reading_);
  return reader_.read();
}

mig::DeviceUsers MigHardware::users_of(const gpu::Gpu& gpu, std::optional<int> instance) const {
  const auto nodes = instance ? host::device_nodes(gpu, *instance) : host::device_nodes(gpu);
  const auto found = host::device_holders(host_, nodes, ::getpid());
  if (!found) return {.names = {}, .unseen = found.error().message()};
  return {host::describe(found->holders, options_.pod_name), host::what_is_unseen(*found)};
}

// The arbiter has all GPUs open, which does not prevent a change of their mode without a reset.
Result<std::shared_ptr<void>> MigHardware::quiet(const std::set<std::string>& gpus, bool reset,
                                                 const std::stop_token& stop) const {
  using Pauses = std::pair<std::shared_ptr<void>, std::shared_ptr<void>>;
  Pauses pauses;
  if (reset) {
    ASSIGN_OR_RETURN(
        pauses.first,
        process::DriverPause::take({.file = options_.state_dir / "tenants" / process::kDriverLock},
                                   process::kLongestRelease, stop));
  }
  ASSIGN_OR_RETURN(pauses.second, pause_mps(options_.mps_dir, gpus, stop));
  return std::make_shared<Pauses>(std::move(pauses));
}

mig::Hardware MigHardware::of(const gpu::Machine& machine, std::set<std::string> gpus) {
  return {
      .control = control_,
      .reset = reset_,
      .machine = machine,
      .users = [this](const gpu::Gpu& gpu,
                      std::optional<int> instance) { return users_of(gpu, instance); },
      .quiet = [this, gpus = std::move(gpus)](
                   bool resets, const std::stop_token& stop) { return quiet(gpus, resets, stop); }};
}

}  // namespace tranche::agent
