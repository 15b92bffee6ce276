#include "agent/mig_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/boot_id.h"

namespace tranche::agent {
namespace {

// A change of a layout waits for its texts, so they are tried again soon.
constexpr std::chrono::seconds kPause{2};

}  // namespace

MigParts::MigParts(const std::shared_ptr<nvml::Connection>& connection, ClusterNode& node,
                   PodsOfNode* pods, const config::Sources& sources,
                   const config::AgentOptions& options, const Clock& clock, const Log& log)
    : hardware_(connection,
                {.environment = sources.environment,
                 .host_root = options.host_root,
                 .state_dir = options.state_dir,
                 .mps_dir = options.mps_dir,
                 .pod_name = [this](const host::PodProcess& one) { return pod_name(one); }}),
      reader_(connection),
      clock_(clock),
      log_(log),
      node_(node.node()),
      writer_(node.objects(), options.node_name, "the change of the MIG layout is not on the Node",
              clock, log, kPause),
      host_(options.host_root),
      pods_(pods != nullptr ? *pods : own_pods_.emplace(node.objects(), options.node_name, log)) {
  pods_.all();  // they are known by the time that somebody asks for a name
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

Result<gpu::Machine> MigParts::read() {
  const std::scoped_lock lock(reading_);
  return reader_.read();
}

InstanceMaker::Ports MigParts::instance_ports() {
  return {
      .control = hardware_.control(),
      .reset = hardware_.reset(),
      .read = [this] { return read(); },
      .users = [this](const gpu::Gpu& gpu,
                      std::optional<int> instance) { return hardware_.users_of(gpu, instance); },
      .quiet =
          [this](const gpu::Gpu& gpu, const std::stop_token& stop) {
            return hardware_.quiet({gpu.uuid.value}, false, stop);
          },
      .changed = {},
      .clock = clock_,
      .log = log_};
}

MigPorts MigParts::ports() {
  return {
      .control = hardware_.control(),
      .reset = hardware_.reset(),
      .node = [this] { return node_.known(); },
      .write = [this](const NodeWriter::Change& change,
                      const cluster::Call& call) { return writer_.write(change, call); },
      .boot = [this] { return host::boot_id(host_); },
      .pods = [this] { return pods(); },
      .users = [this](const gpu::Gpu& gpu,
                      std::optional<int> instance) { return hardware_.users_of(gpu, instance); },
      .quiet =
          [this](const MigQuiet& wish, const std::stop_token& stop) {
            return hardware_.quiet(wish.gpus, wish.reset, stop);
          }};
}

}  // namespace tranche::agent
