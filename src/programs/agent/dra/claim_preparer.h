#pragma once
// Prepares claims on this node: plans what a claim gets, stores that, then has ClaimMaker make what
// its containers need. Undoing goes the other way round, so after a crash between any two steps the
// same call does the rest.
//
// Called by the threads of dra/server.h. The store is one claim's at a time; nobody holds it while
// the API server is asked.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/dra/claim_maker.h"
#include "agent/dra/claim_node.h"
#include "agent/dra/claim_store.h"
#include "agent/holdings/book.h"
#include "base/log.h"
#include "cluster/objects.h"
#include "cluster/pod.h"
#include "dra/driver.h"
#include "gpu/machine.h"

namespace tranche::agent {

class ClaimPreparer final : public dra::Driver {
 public:
  struct Ports {
    cluster::Objects& objects;
    ClaimStore& store;
    Book& book;
    // null: the hardware has not answered yet.
    std::function<std::shared_ptr<const ClaimNode>()> node;
    ClaimMaker::Ports make;
    // Waits until `end` for a Pod of this node, by its uid; nullopt: it is not known then. Empty:
    // Pods are not known here, and no two shares go together.
    std::function<std::optional<cluster::Pod>(const std::string& uid,
                                              std::chrono::steady_clock::time_point end)>
        pod;
    // What is prepared has changed; from any thread.
    std::function<void()> changed;
    const Log& log;
  };
  // How long prepare() waits for the Pod that it prepares for; the API server may tell kubelet
  // first.
  static constexpr std::chrono::seconds kLongestPodWait{2};
  // So long prepare() waits for another claim on the same device to end. The scheduler gives a
  // device out again as soon as a Pod is deleted, and kubelet may still be ending its containers;
  // after an error kubelet tries again a minute later.
  static constexpr std::chrono::seconds kLongestWait{20};

  explicit ClaimPreparer(Ports ports, std::chrono::milliseconds longest_wait = kLongestWait)
      : ports_(std::move(ports)), maker_(ports_.make), longest_wait_(longest_wait) {}

  Result<dra::PreparedClaim> prepare(const dra::ClaimName& name) override;
  Result<void> unprepare(const dra::ClaimName& name) override;

  // The GPUs that could be cut for claims and that somebody else has cut. None where no instances
  // are made.
  Result<std::set<gpu::GpuUuid>> cut_by_others();

  // After a start: claims that were prepared before a reboot are undone, for their containers are
  // gone, and CDI files of unknown claims are removed. The files of the others are written again,
  // in the form of this release.
  Result<void> restore();

 private:
  using ClaimMap = std::map<std::string, dra::PreparedClaim>;  // by uid
  // nullopt: the claim is not prepared.
  Result<std::optional<dra::PreparedClaim>> prepared(ClaimStore::Locked& store,
                                                     const std::string& uid,
                                                     const ClaimNode& node) const;
  Result<dra::PreparedClaim> plan(const dra::ClaimName& name, const ClaimNode& node) const;
  // The claim's Pod, if two of its shares may go together, or may not as clients of MPS.
  Result<std::optional<cluster::Pod>> pod_to_join(const dra::PreparedClaim& claim,
                                                  const ClaimNode& node) const;
  Result<dra::PreparedClaim> take(const dra::PreparedClaim& claim, const ClaimNode& node,
                                  std::uint64_t call) const;
  // Under the lock of the store: `stored` says whether the claim is in it, also after a failure.
  Result<dra::PreparedClaim> store_and_make(ClaimStore::Locked& store, dra::PreparedClaim claim,
                                            const std::optional<cluster::Pod>& pod,
                                            const ClaimNode& node, bool& stored) const;
  // The store, locked, once the claim goes together with those that are prepared, or is prepared.
  Result<ClaimStore::Locked> await_room(const dra::PreparedClaim& claim, const ClaimNode& node,
                                        std::uint64_t call) const;
  Result<void> check_stays(const dra::PreparedClaim& claim, const ClaimNode& node) const;
  Result<ClaimMap> undo_earlier_boots(ClaimStore::Locked& store, const ClaimMap& all,
                                      const ClaimNode& node) const;
  Result<void> undo(ClaimStore::Locked& store, const dra::PreparedClaim& claim, const ClaimMap& all,
                    const ClaimNode* node) const;

  const Ports ports_;
  const ClaimMaker maker_;
  const std::chrono::milliseconds longest_wait_;
};

}  // namespace tranche::agent
