#include "agent/mig_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/mps/mps_pause.h"
#include "host/boot_id.h"
#include "host/device_holders.h"
#include "host/holder_names.h"
#include "process/driver_lock.h"

namespace tranche::agent {
namespace {

// A change of a layout waits for its texts, so they are tried again soon.
constexpr std::chrono::seconds kPause{2};

}  // namespace

MigParts::MigParts(const std::shared_ptr<nvml::Connection>& connection, ClusterNode& node,
                   PodsOfNode* pods, const config::Sources& sources,
                   const config::AgentOptions& options, const Clock& clock, const Log& log)
    : control_(connection),
      reader_(connection),
      program_(
          {.environment = sources.environment, .driver_root = connection->options().driver_root}),
      reset_(connection, program_),
      clock_(clock),
      log_(log),
      node_(node.node()),
      writer_(node.objects(), options.node_name, "the change of the MIG layout is not on the Node",
              clock, log, kPause),
      host_(options.host_root),
      driver_lock_(options.state_dir + "/tenants/" + process::kDriverLock),
      mps_dir_(options.mps_dir),
      pods_(pods != nullptr ? *pods : own_pods_.emplace(node.objects(), options.node_name, log)) {
  pods_.all();  // they are known by the time that somebody asks for a name
}

mig::DeviceUsers MigParts::users_of(const gpu::Gpu& gpu, std::optional<int> instance) const {
  const auto nodes = instance ? host::device_nodes(gpu, *instance) : host::device_nodes(gpu);
  const auto found = host::device_holders(host_, nodes, ::getpid());
  if (!found) return {.names = {}, .unseen = found.error().message()};
  return {host::describe(found->holders,
                         [this](const host::PodProcess& process) { return pod_name(process); }),
          host::what_is_unseen(*found)};
}

std::optional<std::vector<cluster::Pod>> MigParts::pods() {
  auto pods = pods_.all();
  // Without the permission nobody is waited for.
  if (!pods && pods_.is_refused()) pods.emplace();
  return pods;
}

std::string MigParts::pod_name(const host::PodProcess& process) const {
  const auto pods = pods_.all();
  if (!pods) return {};
  const auto pod = std::ranges::find(*pods, process.pod_uid, cluster::uid_on_node);
  return pod == pods->end() ? "" : fmt::format("{}/{}", pod->ns, pod->name);
}

// The arbiter has all GPUs open, and does not keep their mode from changing without a reset.
Result<std::shared_ptr<void>> MigParts::quiet(const MigQuiet& wish,
                                              const std::stop_token& stop) const {
  using Pauses = std::pair<std::shared_ptr<void>, std::shared_ptr<void>>;
  Pauses pauses;
  if (wish.reset) {
    ASSIGN_OR_RETURN(pauses.first, process::DriverPause::take({.file = driver_lock_},
                                                              process::kLongestLetGo, stop));
  }
  ASSIGN_OR_RETURN(pauses.second, pause_mps(mps_dir_, wish.gpus, stop));
  return std::make_shared<Pauses>(std::move(pauses));
}

Result<gpu::Machine> MigParts::read() {
  const std::scoped_lock lock(reading_);
  return reader_.read();
}

InstanceMaker::Ports MigParts::instance_ports() {
  return {.control = control_,
          .reset = reset_,
          .read = [this] { return read(); },
          .users = [this](const gpu::Gpu& gpu,
                          std::optional<int> instance) { return users_of(gpu, instance); },
          .quiet =
              [this](const gpu::Gpu& gpu, const std::stop_token& stop) {
                return quiet({.gpus = {gpu.uuid.value}}, stop);
              },
          .changed = {},
          .clock = clock_,
          .log = log_};
}

MigPorts MigParts::ports() {
  return {.control = control_,
          .reset = reset_,
          .node = [this] { return node_.known(); },
          .write = [this](const NodeWriter::Change& change,
                          const cluster::Call& call) { return writer_.write(change, call); },
          .boot = [this] { return host::boot_id(host_); },
          .pods = [this] { return pods(); },
          .users = [this](const gpu::Gpu& gpu,
                          std::optional<int> instance) { return users_of(gpu, instance); },
          .quiet = [this](const MigQuiet& wish,
                          const std::stop_token& stop) { return quiet(wish, stop); }};
}

}  // namespace tranche::agent
