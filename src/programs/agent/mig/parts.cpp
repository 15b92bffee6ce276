#include "agent/mig/parts.h"

#include "agent/config/cluster_node.h"
#include "agent/dra/claim_service.h"
#include "agent/instances/mig_hardware.h"
#include "agent/mig/mig_follower.h"
#include "agent/node/pods_of_node.h"
#include "cluster/formats/reasons.h"
#include "host/boot_id.h"

namespace tranche::agent {
namespace {

// Changes of a layout wait for their texts, so failed writes are retried soon.
constexpr std::chrono::seconds kPause{2};

std::string own_pod(const config::AgentOptions& options) {
  return options.pod_name.empty() ? "" : options.kube_namespace + '/' + options.pod_name;
}

// nullopt: not known yet. Without the permission nobody is waited for.
std::optional<std::vector<cluster::Pod>> pods_of(PodsOfNode& view) {
  auto pods = view.all();
  if (!pods && view.is_refused()) pods.emplace();
  return pods;
}

struct ManagedMig {
  explicit ManagedMig(const AgentContext& context);
  MigManager::Ports ports(const AgentContext& context);

  NodeWriter writer;
  MigManager manager;
};

ManagedMig::ManagedMig(const AgentContext& context)
    : writer(context.outside.cluster->objects(), context.options.node_name,
             "the change of the MIG layout is not on the Node", context.clock, context.log, kPause),
      manager({.state_dir = context.options.state_dir,
               .config_file = context.options.mig_config_file,
               .settings = {.times = {.drain = context.options.mig_drain_timeout},
                            .controller = context.options.mig_ask_controller},
               .own_pod = own_pod(context.options)},
              ports(context)) {}

MigManager::Ports ManagedMig::ports(const AgentContext& context) {
  auto& hardware = *context.outside.mig_hardware;
  return {.control = hardware.control(),
          .reset = hardware.reset(),
          .kubelet = context.outside.kubelet,
          .holders = context.outside.holders,
          .book = context.outside.book,
          .users_of_claim =
              [claims = context.claims](const cluster::ObjectKey& claim) {
                return claims != nullptr ? claims->users_of(claim)
                                         : std::vector<cluster::ObjectKey>();
              },
          .node = [&view = context.outside.cluster->node()] { return view.known(); },
          .write = [this](const NodeWriter::Change& change,
                          const cluster::Call& call) { return writer.write(change, call); },
          .boot = [root = FsRoot(context.options.host_root)] { return host::boot_id(root); },
          .users = [&hardware](
                       const gpu::Gpu& gpu,
                       std::optional<int> instance) { return hardware.users_of(gpu, instance); },
          .quiet =
              [&hardware](const MigQuiet& wish, const std::stop_token& stop) {
                return hardware.quiet(wish.gpus, wish.reset, stop);
              },
          .pods = [&pods = *context.outside.pods] { return pods_of(pods); },
          .read_hardware = context.read_hardware,
          .look_again = context.look_again,
          .renew_checkpoint = context.renew_checkpoint,
          .tell = context.outside.tell,
          .report = context.outside.report,
          .clock = context.clock,
          .log = context.log};
}

}  // namespace

Parts mig_parts(const AgentContext& context) {
  Parts parts;
  parts.stages = {withhold_what_changes};
  auto* const cluster = context.outside.cluster;
  if (cluster == nullptr) return parts;
  if (!context.options.mig_manager || context.outside.mig_hardware == nullptr) {
    cluster->withdraw(cluster::condition::kTrancheMigLayout);
    return parts;
  }
  const auto managed = std::make_shared<ManagedMig>(context);
  const std::shared_ptr<MigManager> manager(managed, &managed->manager);
  parts.inputs.push_back(std::make_unique<MigInput>(manager));
  parts.followers.push_back(std::make_unique<MigFollower>(manager));
  return parts;
}

}  // namespace tranche::agent
