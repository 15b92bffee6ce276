#pragma once
// Prepares claims on this node: plans what a claim gets, stores that, then has ClaimMaker make what
// its containers need. Undoing is the reverse. Both are idempotent: after a crash the same call
// does the rest.
//
// Called by the threads of dra/server.h. The store is locked for one claim at a time, and never
// while the API server is asked.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/dra/claim_maker.h"
#include "agent/dra/claim_node.h"
#include "agent/dra/claim_recovery.h"
#include "agent/dra/claim_store.h"
#include "agent/holdings/book.h"
#include "base/log.h"
#include "cluster/objects.h"
#include "cluster/pod.h"
#include "cluster/resource_claim.h"
#include "cluster/resource_slice.h"
#include "dra/driver.h"
#include "gpu/machine.h"

namespace tranche::agent {

class ClaimPreparer final : public dra::Driver {
 public:
  struct Ports {
    cluster::Objects* objects;  // null: no claim is prepared any more; they only end
    cluster::PodResources& kubelet;
    ClaimStore& store;
    Book& book;
    // null before the first reading of the hardware.
    std::function<std::shared_ptr<const ClaimNode>()> node;
    // The GPUs that this node publishes; nullopt: not known yet.
    std::function<std::optional<std::vector<cluster::SliceDevice>>()> listed;
    ClaimMaker::Ports make;
    ClaimRecovery::FindPod pod;
    // What is prepared has changed. From any thread.
    std::function<void()> changed;
    const Log& log;
  };
  // Longest wait for the claim's Pod, which kubelet may receive from the API server first.
  static constexpr std::chrono::seconds kLongestPodWait{2};
  // Longest wait of prepare() for another claim on the same device to end. The scheduler gives a
  // device out again as soon as a Pod is deleted, while kubelet may still be ending its containers;
  // after an error kubelet retries a minute later.
  static constexpr std::chrono::seconds kLongestWait{20};

  explicit ClaimPreparer(Ports ports, std::chrono::milliseconds longest_wait = kLongestWait)
      : ports_(std::move(ports)),
        recovery_(recovery(ports_)),
        maker_(ports_.make),
        longest_wait_(longest_wait) {}

  Result<dra::PreparedClaim> prepare(const dra::ClaimName& name) override;
  Result<void> unprepare(const dra::ClaimName& name) override;
  // prepare() of a claim that is prepared already, which kubelet asks for after its own restart.
  // kFailedPrecondition: it is not.
  Result<dra::PreparedClaim> prepare_again(const dra::ClaimName& name);

  // The GPUs that could be cut for claims but were cut by somebody else. None where no instances
  // are made.
  Result<std::set<gpu::GpuUuid>> cut_by_others();

  // After a start: makes lost records again, undoes claims that were prepared before a reboot, for
  // their containers are gone, removes CDI files of unknown claims, and, where claims are prepared,
  // writes those of the others again in this release's form. A lost record that cannot be made
  // again now stands in the book as unreadable. Errors: also those of ClaimRecovery::restore().
  Result<void> restore();

 private:
  using ClaimMap = std::map<std::string, dra::PreparedClaim>;  // by uid
  static std::optional<ClaimRecovery> recovery(const Ports& ports);
  // nullopt: the claim is not prepared.
  Result<std::optional<dra::PreparedClaim>> prepared(ClaimStore::Locked& store,
                                                     const std::string& uid,
                                                     const ClaimNode& node) const;
  void make_anew(ClaimMap& all, const ClaimNode& node,
                 std::map<std::string, std::string>& troubles) const;
  Result<std::set<std::string>> remove_unknown_files(const ClaimMap& all,
                                                     const std::set<std::string>& lost) const;
  Result<dra::PreparedClaim> plan(const dra::ClaimName& name, const ClaimNode& node) const;
  Result<void> check_all(const cluster::ResourceClaim& claim, const ClaimNode& node) const;
  // The claim's Pod, if two of its shares may be joined, or may not as clients of MPS.
  Result<std::optional<cluster::Pod>> pod_to_join(const dra::PreparedClaim& claim,
                                                  const ClaimNode& node) const;
  Result<dra::PreparedClaim> take(const dra::PreparedClaim& claim, const ClaimNode& node,
                                  std::uint64_t call) const;
  // Under the lock of the store. `stored`: whether the claim is in it, also after a failure.
  Result<dra::PreparedClaim> store_and_make(ClaimStore::Locked& store, dra::PreparedClaim claim,
                                            const std::optional<cluster::Pod>& pod,
                                            const ClaimNode& node, bool& stored) const;
  // Locks the store once nothing prepared conflicts with the claim, or the claim is prepared
  // itself.
  Result<ClaimStore::Locked> await_room(const dra::PreparedClaim& claim, const ClaimNode& node,
                                        std::uint64_t call) const;
  Result<void> check_stays(const dra::PreparedClaim& claim, const ClaimNode& node) const;
  Result<ClaimMap> undo_earlier_boots(ClaimStore::Locked& store, const ClaimMap& all,
                                      const ClaimNode& node) const;
  Result<void> undo(ClaimStore::Locked& store, const dra::PreparedClaim& claim, const ClaimMap& all,
                    const ClaimNode* node) const;

  const Ports ports_;
  const std::optional<ClaimRecovery> recovery_;  // nullopt: no claim is prepared any more
  const ClaimMaker maker_;
  const std::chrono::milliseconds longest_wait_;
};

}  // namespace tranche::agent
