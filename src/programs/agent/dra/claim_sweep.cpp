#include "agent/dra/claim_sweep.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cluster/kinds.h"
#include "cluster/resource_claim.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kLongestQuestion{10};

}  // namespace

Result<bool> ClaimSweep::is_gone(const dra::PreparedClaim& claim) const {
  const auto object = ports_.objects.get(cluster::kResourceClaim, {claim.ns, claim.name},
                                         {.deadline = kLongestQuestion});
  if (!object && object.error().code == Code::kNotFound) return true;
  if (!object) return std::unexpected(object.error());
  ASSIGN_OR_RETURN(const auto now, cluster::parse_resource_claim(object->json));
  return now.uid != claim.uid;
}

Result<void> ClaimSweep::look() {
  std::vector<dra::PreparedClaim> gone;
  for (auto& claim : ports_.book.claims()) {
    ASSIGN_OR_RETURN(const bool is, is_gone(claim));
    if (is) gone.push_back(std::move(claim));
  }
  const auto before = std::exchange(gone_, {});
  if (gone.empty()) return {};
  ASSIGN_OR_RETURN(const auto held, ports_.kubelet.list());
  std::set<cluster::ObjectKey> in_use;
  for (const auto& use : held.claims) in_use.insert(use.claim);
  Result<void> result;
  for (const auto& claim : gone) {
    if (in_use.contains({claim.ns, claim.name})) continue;
    gone_.insert(claim.uid);
    if (!before.contains(claim.uid)) continue;
    ports_.log.warn(
        fmt::format("claim {}/{} ({}) is deleted, and kubelet has not had it undone: "
                    "it is undone now",
                    claim.ns, claim.name, claim.uid));
    auto undone = ports_.undo({.ns = claim.ns, .name = claim.name, .uid = claim.uid});
    if (!undone) result = std::move(undone);
  }
  return result;
}

}  // namespace tranche::agent
