#include "agent/dra/claim_preparer.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/uuid.h"
#include "cdi/claim_spec.h"
#include "cluster/kinds.h"
#include "cluster/resource_claim.h"
#include "offer/devices.h"

namespace tranche::agent {
namespace {

using dra::PreparedClaim;
using ClaimMap = std::map<std::string, PreparedClaim>;

// Kubelet gives a call 45 s.
constexpr std::chrono::seconds kLongestGet{20};

// Those of this boot, but for `uid`.
std::vector<PreparedClaim> others_of(const ClaimMap& all, const std::string& uid,
                                     const std::string& boot) {
  std::vector<PreparedClaim> others;
  for (const auto& [id, claim] : all) {
    if (id != uid && claim.boot == boot) others.push_back(claim);
  }
  return others;
}

Result<cdi::ClaimDevice> cdi_device(const PreparedClaim& claim, const dra::PreparedDevice& device,
                                    const gpu::Machine& machine) {
  auto found = offer::find_device(machine, device.uuid);
  if (!found) {
    return fail(Code::kNotFound,
                fmt::format("{} ({}) is not on this node any more", device.device, device.uuid));
  }
  return cdi::ClaimDevice{.name = dra::cdi_device_name(claim, device),
                          .device = *std::move(found),
                          .tenant = dra::tenant_of(claim, device)};
}

}  // namespace

Result<PreparedClaim> ClaimPreparer::prepare(const dra::ClaimName& name) {
  const auto node = ports_.node();
  if (node == nullptr) return fail(Code::kUnavailable, "the GPUs have not been read yet");
  ASSIGN_OR_RETURN(auto store, ports_.store.lock());
  ASSIGN_OR_RETURN(const auto all, store.all());
  const auto known = all.find(name.uid);
  if (known != all.end() && known->second.boot == node->facts.boot) {
    TRY(make(known->second, *node));
    return known->second;
  }
  ASSIGN_OR_RETURN(auto claim, plan(name, *node));
  TRY(dra::check_beside(claim, others_of(all, claim.uid, node->facts.boot), node->machine));
  TRY(store.put(claim));
  TRY(make(claim, *node));
  ports_.log.info(fmt::format("prepared claim {}/{}: {} device{}", claim.ns, claim.name,
                              claim.devices.size(), claim.devices.size() == 1 ? "" : "s"));
  return claim;
}

Result<PreparedClaim> ClaimPreparer::plan(const dra::ClaimName& name, const ClaimNode& node) const {
  ASSIGN_OR_RETURN(
      const auto object,
      ports_.objects.get(cluster::kResourceClaim, {name.ns, name.name}, {.deadline = kLongestGet}));
  ASSIGN_OR_RETURN(const auto claim, cluster::parse_resource_claim(object.json));
  if (claim.uid != name.uid) {
    return fail(Code::kFailedPrecondition,
                fmt::format("claim {}/{} has been made anew since", name.ns, name.name));
  }
  return dra::plan_claim(claim, node.machine, node.facts);
}

Result<void> ClaimPreparer::make(const PreparedClaim& claim, const ClaimNode& node) const {
  std::vector<cdi::ClaimDevice> devices;
  for (const auto& device : claim.devices) {
    if (device.limits) TRY(ports_.add_tenant(dra::tenant_of(claim, device), *device.limits));
    ASSIGN_OR_RETURN(auto one, cdi_device(claim, device, node.machine));
    devices.push_back(std::move(one));
  }
  if (devices.empty()) return {};
  ASSIGN_OR_RETURN(const auto file, cdi::make_claim_file(claim.uid, devices, node.machine,
                                                         node.files, node.options, node.limits));
  return cdi::write_claim_file(FsRoot(), ports_.cdi_root, file);
}

// The record goes last: who finds it knows what is still to be undone.
Result<void> ClaimPreparer::undo(ClaimStore::Locked& store, const PreparedClaim& claim) const {
  TRY(cdi::remove_claim_file(FsRoot(), ports_.cdi_root, claim.uid));
  for (const auto& device : claim.devices) {
    if (device.limits) TRY(ports_.remove_tenant(dra::tenant_of(claim, device)));
  }
  return store.remove(claim.uid);
}

Result<void> ClaimPreparer::unprepare(const dra::ClaimName& name) {
  if (!is_uuid(name.uid)) return {};  // no such claim was ever prepared
  ASSIGN_OR_RETURN(auto store, ports_.store.lock());
  ASSIGN_OR_RETURN(const auto all, store.all());
  const auto known = all.find(name.uid);
  // Without a record there may be a file, if the record was lost.
  if (known == all.end()) return cdi::remove_claim_file(FsRoot(), ports_.cdi_root, name.uid);
  TRY(undo(store, known->second));
  ports_.log.info(fmt::format("claim {}/{} has ended", name.ns, name.name));
  return {};
}

Result<void> ClaimPreparer::restore() {
  const auto node = ports_.node();
  if (node == nullptr) return fail(Code::kUnavailable, "the GPUs have not been read yet");
  ASSIGN_OR_RETURN(auto store, ports_.store.lock());
  ASSIGN_OR_RETURN(auto all, store.all());
  std::size_t gone = 0;
  for (const auto& [uid, claim] : ClaimMap(all)) {
    if (claim.boot == node->facts.boot) continue;
    TRY(undo(store, claim));
    all.erase(uid);
    ++gone;
  }
  if (gone > 0) {
    ports_.log.info(
        fmt::format("undid {} claims that were prepared before this machine was "
                    "started",
                    gone));
  }
  ASSIGN_OR_RETURN(const auto uids, cdi::claims_with_files(FsRoot(), ports_.cdi_root));
  for (const auto& uid : uids) {
    if (!all.contains(uid)) TRY(cdi::remove_claim_file(FsRoot(), ports_.cdi_root, uid));
  }
  return {};
}

}  // namespace tranche::agent
