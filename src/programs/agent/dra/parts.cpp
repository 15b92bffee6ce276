#include "agent/dra/parts.h"

#include <map>
#include <string>
#include <utility>

#include "agent/config/cluster_node.h"
#include "agent/dra/claim_follower.h"
#include "agent/dra/claim_stage.h"
#include "agent/dra/mps_opener.h"
#include "agent/instances/mig_hardware.h"
#include "agent/limits/tenant_manager.h"
#include "agent/node/pods_of_node.h"
#include "host/boot_id.h"

namespace tranche::agent {
namespace {

std::unexpected<Error> no_tenants() {
  return fail(Code::kFailedPrecondition, "there is no state folder",
              "mount a writable folder at --state-dir");
}

// null: no MIG instances are made for claims, or removed.
std::unique_ptr<InstanceMaker> make_instances(const AgentContext& context) {
  auto* const hardware = context.outside.mig_hardware;
  const bool makes = context.options.dra_dynamic_mig || !context.options.dra;
  if (!makes || hardware == nullptr) return nullptr;
  return std::make_unique<InstanceMaker>(InstanceMaker::Ports{
      .control = hardware->control(),
      .reset = hardware->reset(),
      .read = [hardware] { return hardware->read(); },
      .users = [hardware](
                   const gpu::Gpu& gpu,
                   std::optional<int> instance) { return hardware->users_of(gpu, instance); },
      .quiet =
          [hardware](const gpu::Gpu& gpu, const std::stop_token& stop) {
            return hardware->quiet({gpu.uuid.value}, false, stop);
          },
      .changed = context.read_hardware,
      .clock = context.clock,
      .log = context.log});
}

std::function<Result<cluster::Node>()> known_node(ClusterNode* cluster) {
  if (cluster == nullptr) return [] { return Result<cluster::Node>(cluster::Node()); };
  return [&view = cluster->node()] { return view.known(); };
}

}  // namespace

std::unique_ptr<ClaimService> make_claims(const AgentContext& context) {
  auto* const cluster = context.outside.cluster;
  auto* const tenants = context.tenants;
  const bool serves = context.options.dra && cluster != nullptr;
  ClaimService::Ports ports{.objects = serves ? &cluster->objects() : nullptr,
                            .kubelet = context.outside.kubelet,
                            .book = context.outside.book,
                            .node = known_node(serves ? cluster : nullptr),
                            .boot = host::boot_id(FsRoot(context.options.host_root)),
                            .add_tenant = [tenants, driver = context.options.dra_driver_name](
                                              const std::string& tenant, const GrantLimits& limits,
                                              bool renewed) -> Result<void> {
                              if (tenants == nullptr) return no_tenants();
                              return tenants->add_claim(tenant, driver, limits, renewed);
                            },
                            .remove_tenant = [tenants](const std::string& tenant) -> Result<void> {
                              return tenants != nullptr ? tenants->remove_claim(tenant)
                                                        : Result<void>();
                            },
                            .instances = make_instances(context),
                            .mounts = [tenants]() -> Result<offer::LimitMounts> {
                              if (tenants == nullptr) return no_tenants();
                              return tenants->prepare();
                            },
                            .hook = [tenants](bool wanted) -> Result<std::optional<cdi::Hook>> {
                              if (tenants == nullptr) return no_tenants();
                              return tenants->prepare_claims_hook(wanted);
                            },
                            .pod = {},
                            .report = context.outside.report,
                            .look_again = context.look_again,
                            .clock = context.clock,
                            .log = context.log};
  if (auto* const pods = context.outside.pods) {
    ports.pod = [pods](const std::string& uid, auto end) { return pods->await(uid, end); };
  }
  auto claims = std::make_unique<ClaimService>(context.options, std::move(ports));
  if (tenants != nullptr) {
    tenants->know_claims([service = claims.get()] { return service->tenants(); });
  }
  return claims;
}

Parts dra_parts(const AgentContext& context) {
  Parts parts;
  parts.stages = {offer_by_mode};
  parts.followers.push_back(
      std::make_unique<MpsOpener>(context.options.mps_dir, context.outside.book, context.log));
  parts.inputs.push_back(std::make_unique<ClaimInput>(*context.claims));
  parts.followers.push_back(std::make_unique<ClaimFollower>(*context.claims));
  return parts;
}

}  // namespace tranche::agent
