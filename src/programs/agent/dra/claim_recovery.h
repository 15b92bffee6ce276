#pragma once
// What the claims of lost records have (ClaimStore::Locked::lost()), read again from their objects:
// the scheduler's allocation stays while a claim has a user. Asks kubelet and the API server, never
// under the lock of the claims.

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/dra/claim_node.h"
#include "agent/dra/claim_store.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "cluster/pod.h"
#include "cluster/pod_resources.h"
#include "cluster/resource_claim.h"
#include "dra/driver.h"
#include "dra/prepared.h"

namespace tranche::agent {

// Longest wait for an object that an answer to kubelet needs, whose deadline is 45 s.
inline constexpr std::chrono::seconds kLongestGet{20};

// The claim's object. kFailedPrecondition: another claim has this name now.
Result<cluster::ResourceClaim> get_claim(cluster::Objects& objects, const dra::ClaimName& name);

class ClaimRecovery {
 public:
  // Waits until `end` for a Pod of this node, by uid; nullopt: it is still unknown then. Empty:
  // Pods are not known here, and no two shares are joined.
  using FindPod = std::function<std::optional<cluster::Pod>(
      const std::string& uid, std::chrono::steady_clock::time_point end)>;
  struct Ports {
    cluster::Objects& objects;
    cluster::PodResources& kubelet;
    ClaimStore& store;
    FindPod pod;
    std::filesystem::path cdi_root;
    const Log& log;
  };
  explicit ClaimRecovery(Ports ports) : ports_(std::move(ports)) {}

  // Makes lost records again, as far as a container has the claim: it has a CDI file, and kubelet
  // knows its name. Errors: as PodResources::list() and Objects::get(), without which none is
  // found. A record whose claim is not found stays lost.
  Result<void> restore(const ClaimNode& node) const;
  // What a claim that ends has, if its record is lost. nullopt: the record is there, or the claim
  // has no CDI file (a reboot removes them, and what was at its places then is somebody else's), or
  // nobody can tell any more. Errors: as Objects::get(); kUnavailable without `node`.
  Result<std::optional<dra::PreparedClaim>> read_lost(const dra::ClaimName& name,
                                                      const ClaimNode* node) const;

 private:
  Result<std::set<std::string>> lost_with_files() const;
  Result<std::vector<dra::PreparedClaim>> find(const std::set<std::string>& uids,
                                               const ClaimNode& node) const;
  std::optional<dra::PreparedClaim> plan(const cluster::ResourceClaim& claim,
                                         const ClaimNode& node) const;
  Result<void> take_up(dra::PreparedClaim claim) const;

  const Ports ports_;
};

}  // namespace tranche::agent
