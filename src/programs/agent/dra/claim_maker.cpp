#include "agent/dra/claim_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "agent/dra/claim_mps.h"
#include "base/fs.h"
#include "cdi/claim_spec.h"
#include "dra/joint.h"
#include "offer/devices.h"

namespace tranche::agent {
namespace {

using dra::PreparedClaim;
using dra::PreparedDevice;

Result<cdi::ClaimDevice> cdi_device(const PreparedClaim& claim, const PreparedDevice& device,
                                    const gpu::Machine& machine, const ClaimNode& node,
                                    const std::vector<PreparedClaim>& all) {
  auto found = offer::find_device(machine, device.uuid);
  if (!found) {
    return fail(Code::kNotFound,
                fmt::format("{} ({}) is not on this node any more", device.device, device.uuid));
  }
  cdi::ClaimDevice one{.name = dra::cdi_device_name(claim, device),
                       .device = *std::move(found),
                       .tenant = dra::tenant_of(claim, device)};
  if (node.enforcers.of(one.device.gpu_uuid).hook) one.hook = node.hook;
  one.client = client_of(claim, device, all, node);
  return one;
}

std::set<std::string> tenants_of(const PreparedClaim& claim) {
  std::set<std::string> tenants;
  for (const auto& device : claim.devices) {
    if (device.limits) tenants.insert(dra::tenant_of(claim, device));
  }
  return tenants;
}

GrantLimits kept_limits(const std::string& tenant, const std::vector<PreparedClaim>& claims,
                        const ClaimNode& node) {
  return offer::kept_by(dra::joint_limits(tenant, claims), node.enforcers,
                        is_client(tenant, claims, node.enforcers));
}

bool has_clients(const PreparedClaim& claim, const ClaimNode& node) {
  return std::ranges::any_of(claim.devices, [&](const PreparedDevice& device) {
    return !node.enforcers.of(device.uuid).mps.empty();
  });
}

// Fills in the UUIDs of the claim's instances. False: `machine` has no instance at one of its
// places, or several.
bool find_instances(PreparedClaim& claim, const gpu::Machine& machine) {
  for (auto& device : claim.devices) {
    if (!device.place) continue;
    const auto* gpu = gpu::find_gpu(machine, device.place->gpu);
    if (gpu == nullptr) return false;
    const auto& all = gpu->mig_instances;
    const auto place = std::optional(device.place->at);
    if (std::ranges::count(all, place, &gpu::MigInstance::placement) != 1) return false;
    dra::fill_uuid(device, std::ranges::find(all, place, &gpu::MigInstance::placement)->uuid.value);
  }
  return true;
}

std::vector<dra::MigPlace> places_of(const PreparedClaim& claim) {
  std::vector<dra::MigPlace> places;
  for (const auto& device : claim.devices) {
    if (device.place) places.push_back(*device.place);
  }
  return places;
}

}  // namespace

Result<PreparedClaim> ClaimMaker::make(PreparedClaim claim, const Claims& others,
                                       const ClaimNode& node) const {
  auto machine = node.machine;
  TRY(make_whole(claim, machine));
  TRY(make_instances(claim, machine));
  TRY(make_tenants(claim, others, node));
  auto all = others;
  all.push_back(claim);
  TRY(renew_files(claim, others, all, node));
  TRY(write_file(claim, all, machine, node));
  return claim;
}

// `all`: `claim` and the claims that share a tenant with it.
Result<void> ClaimMaker::write_file(const PreparedClaim& claim, const Claims& all,
                                    const gpu::Machine& machine, const ClaimNode& node) const {
  std::vector<cdi::ClaimDevice> devices;
  for (const auto& device : claim.devices) {
    ASSIGN_OR_RETURN(auto one, cdi_device(claim, device, machine, node, all));
    devices.push_back(std::move(one));
  }
  if (devices.empty()) return {};
  ASSIGN_OR_RETURN(const auto file, cdi::make_claim_file(claim.uid, devices, machine, node.files,
                                                         node.options, node.limits));
  return cdi::write_claim_file(FsRoot(), ports_.cdi_root, file);
}

// A container with several shares of one MPS GPU gets the CDI file of each, and for the variables
// with its part the last file wins. So each file has the sum. A missing file is written by the call
// for its own claim.
Result<void> ClaimMaker::renew_files(const PreparedClaim& claim, const Claims& others,
                                     const Claims& all, const ClaimNode& node) const {
  for (const auto& other : others) {
    if (!has_clients(other, node) || !dra::have_a_tenant_together(claim, other)) continue;
    if (!cdi::has_claim_file(FsRoot(), ports_.cdi_root, other.uid)) continue;
    TRY(write_file(other, all, node.machine, node));
  }
  return {};
}

Result<void> ClaimMaker::make_tenants(const PreparedClaim& claim, const Claims& others,
                                      const ClaimNode& node) const {
  const bool renewed = !cdi::has_claim_file(FsRoot(), ports_.cdi_root, claim.uid);
  auto all = others;
  all.push_back(claim);
  for (const auto& tenant : tenants_of(claim)) {
    TRY(ports_.add_tenant(tenant, kept_limits(tenant, all, node), renewed));
  }
  return {};
}

// A tenant that other claims have too keeps their parts.
Result<void> ClaimMaker::undo_tenants(const PreparedClaim& claim, const Claims& others,
                                      const ClaimNode* node) const {
  for (const auto& tenant : tenants_of(claim)) {
    const auto left =
        node == nullptr ? dra::joint_limits(tenant, others) : kept_limits(tenant, others, *node);
    TRY(left.devices.empty() ? ports_.remove_tenant(tenant)
                             : ports_.add_tenant(tenant, left, true));
  }
  return {};
}

// MIG mode may still be on in a GPU without instances.
Result<void> ClaimMaker::make_whole(const PreparedClaim& claim, const gpu::Machine& machine) const {
  if (ports_.instances == nullptr) return {};
  for (const auto& device : claim.devices) {
    if (device.admin_access) continue;
    const auto* gpu = gpu::find_gpu(machine, {device.uuid});
    if (gpu == nullptr || !InstanceMaker::can_cut(*gpu)) continue;
    auto whole = ports_.instances->make_whole(gpu->uuid, machine);
    if (!whole) return std::unexpected(std::move(whole).error().with_context(device.device));
  }
  return {};
}

Result<void> ClaimMaker::make_instances(PreparedClaim& claim, gpu::Machine& machine) const {
  const auto places = places_of(claim);
  if (places.empty()) return {};
  if (ports_.instances == nullptr) {
    if (find_instances(claim, machine)) return {};
    return fail(Code::kFailedPrecondition, "this agent makes no MIG instances for claims",
                "delete the Pod and its claim, or set dra.dynamicMig (--dra-dynamic-mig)");
  }
  for (const auto& device : claim.devices) {
    if (!device.place) continue;
    auto made = ports_.instances->make(*device.place, machine);
    if (!made) return std::unexpected(std::move(made).error().with_context(device.device));
  }
  ASSIGN_OR_RETURN(auto found, ports_.instances->find(places));
  auto uuid = found.uuids.begin();
  for (auto& device : claim.devices) {
    if (device.place) dra::fill_uuid(device, *uuid++);
  }
  found.machine.host = std::move(machine.host);  // not filled in by the reader
  machine = std::move(found.machine);
  return {};
}

// Instances are removed last: the limits hold while a container may still use one.
Result<void> ClaimMaker::undo(const PreparedClaim& claim, const Claims& others,
                              const ClaimNode* node) const {
  TRY(cdi::remove_claim_file(FsRoot(), ports_.cdi_root, claim.uid));
  TRY(undo_tenants(claim, others, node));
  const bool renews = node != nullptr && ports_.work == Ports::Work::kMakes;
  if (renews) TRY(renew_files(claim, others, others, *node));
  return remove_instances(claim, node);
}

Result<void> ClaimMaker::remove_instances(const PreparedClaim& claim, const ClaimNode* node) const {
  const auto places = places_of(claim);
  if (places.empty()) return {};
  if (node == nullptr) return fail(Code::kUnavailable, "the GPUs have not been read yet");
  if (claim.boot != node->facts.boot) return {};
  if (ports_.instances == nullptr) {
    ports_.log.warn(fmt::format(
        "claim {}/{} has ended, and its MIG instance stays, for this agent may not remove it: "
        "other claims can have it, or remove it by nvidia-smi mig -dci and -dgi on {}",
        claim.ns, claim.name, places.front().gpu.value));
    return {};
  }
  for (const auto& place : places) {
    if (gpu::find_gpu(node->machine, place.gpu) == nullptr) continue;  // the GPU has gone
    TRY(ports_.instances->remove(place, node->machine));
  }
  return {};
}

}  // namespace tranche::agent
