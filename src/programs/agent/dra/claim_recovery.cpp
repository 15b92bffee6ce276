#include "agent/dra/claim_recovery.h"

#include <fmt/format.h>

#include <utility>

#include "cdi/claim_spec.h"
#include "cluster/kinds.h"
#include "dra/claim_plan.h"
#include "dra/joint.h"

namespace tranche::agent {
namespace {

// Kubelet knows the Pod already.
constexpr std::chrono::seconds kLongestPodWait{2};

Result<cluster::ResourceClaim> get_object(cluster::Objects& objects,
                                          const cluster::ObjectKey& key) {
  ASSIGN_OR_RETURN(const auto object,
                   objects.get(cluster::kResourceClaim, key, {.deadline = kLongestGet}));
  return cluster::parse_resource_claim(object.json);
}

// What was given already is not refused for what may be given now.
dra::PlanFacts facts_of_given(const ClaimNode& node) {
  auto facts = node.facts;
  facts.no_limits.clear();
  facts.mps_troubles.clear();
  for (const auto& gpu : node.machine.gpus) facts.partitionable.insert(gpu.uuid);
  return facts;
}

}  // namespace

Result<cluster::ResourceClaim> get_claim(cluster::Objects& objects, const dra::ClaimName& name) {
  ASSIGN_OR_RETURN(auto claim, get_object(objects, {name.ns, name.name}));
  if (claim.uid == name.uid) return claim;
  return fail(Code::kFailedPrecondition,
              fmt::format("claim {}/{} has been made anew since", name.ns, name.name));
}

std::optional<dra::PreparedClaim> ClaimRecovery::plan(const cluster::ResourceClaim& claim,
                                                      const ClaimNode& node) const {
  auto planned = dra::plan_claim(claim, node.machine, facts_of_given(node));
  if (planned) return *std::move(planned);
  ports_.log.warn(std::move(planned).error().with_context(fmt::format(
      "what claim {}/{} has cannot be read from its object", claim.key.ns, claim.key.name)));
  return std::nullopt;
}

Result<std::set<std::string>> ClaimRecovery::lost_with_files() const {
  ASSIGN_OR_RETURN(auto store, ports_.store.lock());
  TRY(store.all());
  auto lost = store.lost();
  std::erase_if(
      lost, [&](const auto& uid) { return !cdi::has_claim_file(FsRoot(), ports_.cdi_root, uid); });
  return lost;
}

Result<std::vector<dra::PreparedClaim>> ClaimRecovery::find(const std::set<std::string>& uids,
                                                            const ClaimNode& node) const {
  ASSIGN_OR_RETURN(const auto held, ports_.kubelet.list());
  std::set<cluster::ObjectKey> names;
  for (const auto& use : held.claims) names.insert(use.claim);
  std::vector<dra::PreparedClaim> found;
  for (const auto& name : names) {
    const auto claim = get_object(ports_.objects, name);
    if (!claim && claim.error().code == Code::kNotFound) continue;
    if (!claim) return std::unexpected(claim.error());
    if (!uids.contains(claim->uid)) continue;
    if (auto planned = plan(*claim, node)) found.push_back(*std::move(planned));
  }
  return found;
}

Result<void> ClaimRecovery::restore(const ClaimNode& node) const {
  ASSIGN_OR_RETURN(const auto lost, lost_with_files());
  if (lost.empty() || !ports_.kubelet.is_there()) return {};
  ASSIGN_OR_RETURN(auto found, find(lost, node));
  for (auto& claim : found) {
    const auto name = fmt::format("{}/{}", claim.ns, claim.name);
    if (const auto taken = take_up(std::move(claim)); !taken) {
      ports_.log.warn(
          Error(taken.error())
              .with_context(fmt::format("the record of claim {} is not made again", name)));
    } else {
      ports_.log.info(fmt::format("the record of claim {} is made again", name));
    }
  }
  return {};
}

// Its shares are joined as when it was prepared: a tenant that others joined since has its name.
Result<void> ClaimRecovery::take_up(dra::PreparedClaim claim) const {
  const auto pod = claim.pod.empty() || !ports_.pod
                       ? std::nullopt
                       : ports_.pod(claim.pod, std::chrono::steady_clock::now() + kLongestPodWait);
  ASSIGN_OR_RETURN(auto store, ports_.store.lock());
  ASSIGN_OR_RETURN(const auto all, store.all());
  if (!store.lost().contains(claim.uid)) return {};
  std::vector<dra::PreparedClaim> others;
  for (const auto& [uid, other] : all) {
    if (other.boot == claim.boot) others.push_back(other);
  }
  if (pod) dra::join_shares(claim, others, *pod);
  return store.put(claim);
}

Result<std::optional<dra::PreparedClaim>> ClaimRecovery::read_lost(const dra::ClaimName& name,
                                                                   const ClaimNode* node) const {
  {
    ASSIGN_OR_RETURN(auto store, ports_.store.lock());
    ASSIGN_OR_RETURN(const auto all, store.all());
    const bool has_file = cdi::has_claim_file(FsRoot(), ports_.cdi_root, name.uid);
    if (all.contains(name.uid) || !has_file) return std::nullopt;
  }
  if (node == nullptr) return fail(Code::kUnavailable, "the GPUs have not been read yet");
  const auto claim = get_claim(ports_.objects, name);
  if (claim) return plan(*claim, *node);
  const auto code = claim.error().code;
  if (code == Code::kNotFound || code == Code::kFailedPrecondition) return std::nullopt;
  return std::unexpected(claim.error());
}

}  // namespace tranche::agent
