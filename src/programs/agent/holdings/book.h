#pragma once
// Who holds which part of which device on this node: one book for both wires, so that no silicon is
// given out twice. A wire reserves what it is about to give, which is refused, or entered and from
// then on blocks the other wire. A reservation is committed once it is stored, or withdrawn.
//
// Its two stores, the grant file (agent/grants/grant_store.h) and the files of claims
// (agent/dra/claim_store.h), keep records longer than the book keeps entries. A record goes when it
// is of no use to anybody; a grant's entry goes as soon as kubelet would hand the tranche out again
// (docs/decisions/0023-promises.md), a claim's when the claim is undone.
//
// Thread-safe: gRPC threads reserve, the agent's loop follows the offer, other threads enter
// kubelet's answers and read. The lock is held for microseconds, never while files are read or
// calls wait.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/holdings/claim_entries.h"
#include "agent/holdings/grant_entries.h"
#include "agent/holdings/holder_answers.h"
#include "base/clock.h"
#include "base/result.h"
#include "cluster/object.h"
#include "dra/prepared.h"
#include "gpu/machine.h"
#include "holdings/holdings.h"
#include "offer/grant_record.h"
#include "offer/offer.h"

namespace tranche::agent {

class Book {
 public:
  explicit Book(const Clock& clock) : grants_(clock) {}
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  // Everything that is held or reserved, by either wire, and what is used without a grant.
  // Containers of the device plugin are named as in kubelet's last answer; a claim's holding names
  // the claim (holdings/users.h finds its Pods).
  holdings::Holdings all() const;
  // The device plugin's part, in the order of resource and id; never null.
  GrantEntries::Shared granted() const;
  // The claims' part. nullopt: the prepared claims are not known yet, or not all of them can be
  // read.
  std::optional<std::vector<holdings::Holding>> claimed() const;

  // Replaces what Pods use without a grant, as the arbiter observes it: each with its device and,
  // as far as known, its container. It refuses nobody anything.
  void observe(std::vector<holdings::Holding> ungranted);
  // The same vector until observe() brings another; never null.
  GrantEntries::Shared ungranted() const;

  // The device plugin.

  // Called, by any thread, for a reserved grant that the last followed offer does not have:
  // Allocate had begun before the change.
  void on_misfit(std::function<void()> misfit);
  // Enters the grants stored by an earlier agent.
  void restore(std::span<const offer::GrantRecord> records);
  // Before a grant is stored and answered. kFailedPrecondition: the device is held in a conflicting
  // way, by containers or a claim, or the resource is left to claims; nothing is entered.
  Result<void> reserve(const offer::Grant& grant);
  // The grant is stored and will be answered, or it will not be given.
  void commit(const offer::Grant& grant);
  void withdraw(const offer::Grant& grant);
  // Leaves resources to claims, which are clients of their MPS control daemons: from now on nothing
  // of them is reserved for the device plugin. `wanted`: each with its GPUs; without GPUs it is
  // left to claims in any case, otherwise only if the device plugin's containers hold none of them.
  // Returns the resources left to claims; all others are the device plugin's again.
  std::set<std::string> leave_to_claims(const std::map<std::string, std::set<std::string>>& wanted);
  // The offer that Allocate serves from now on. `enforced`: whether what the device plugin's
  // containers hold is withheld from its others; claims always are. True: what the offer hands out
  // has changed.
  bool follow(const offer::Offer& offer, const gpu::Machine& machine, bool enforced);
  // Sets what these holdings' tenants keep of their devices (Holding::part). Until then, the part
  // is as granted.
  void keep(std::span<const holdings::Holding> kept);

  using Changes = GrantEntries::Changes;
  // Enters an answer of kubelet. Returns the changes.
  Changes apply(const HolderAnswer& answer);
  // apply() with an answer that began at most `age` ago. Errors: see HolderAnswers::get().
  Result<Changes> ask(HolderAnswers& kubelet, std::chrono::milliseconds age);
  // The changes from all calls of apply() since the last call of this.
  Changes take_changes();
  // Enters what kubelet's checkpoint names and the book lacks.
  void learn(const std::vector<cluster::HeldDevices>& remembered);
  // Whether kubelet has yet to name some of it.
  bool has_unnamed() const;

  // Claims.

  // Whether new claims are taken. When it returns after false was set, claims() has every claim
  // that is taken before true is set again.
  void open(bool open);
  // Mark a call that prepares a claim. It is no longer valid once the claim has ended: when the Pod
  // is deleted, kubelet cancels the call and has the claim undone while the call still waits.
  // Nobody would undo what the call stored then.
  std::uint64_t enter(const std::string& uid);
  bool stands(const std::string& uid, std::uint64_t call) const;
  void leave(const std::string& uid, std::uint64_t call);
  // Before a claim is stored. kUnavailable: none is taken. kFailedPrecondition: containers of the
  // device plugin hold one of its devices. Conflicts between claims are up to dra/. An error enters
  // nothing.
  Result<void> reserve(const dra::PreparedClaim& claim, const gpu::Machine& machine);
  // The claim is stored, with this content: restore() removes it when its record is gone. Ignored
  // for a claim that is not entered.
  void commit(const dra::PreparedClaim& claim, const gpu::Machine& machine);
  void withdraw(const std::string& uid, std::uint64_t call);
  // What a stored claim's containers need could not be made. Valid until the next commit() or
  // restore().
  void failed(const std::string& uid, std::string trouble);
  // The claim is undone. Calls that prepare it are no longer valid.
  void end(const std::string& uid);
  // The stored claims: after a start, and when another agent has ended. Claims that are being
  // prepared stay.
  // `unreadable`: the uids of claims that may have containers, and whose records cannot be read;
  // each until it is stored again or has ended.
  void restore(const std::map<std::string, dra::PreparedClaim>& claims, const gpu::Machine& machine,
               std::set<std::string> unreadable = {});
  std::set<std::string> unreadable() const;
  // False: the prepared claims are not known yet.
  bool restored() const;

  // version() counts the changes of what claims hold. await_change() returns after one since
  // `version`, or after a short time, because another agent's changes are not seen here. False:
  // `end` has come, or stop() was called.
  std::uint64_t version() const;
  bool await_change(std::uint64_t version, std::chrono::steady_clock::time_point end) const;
  void stop();

  // The entered claims by uid, and those of them that are stored.
  std::vector<dra::PreparedClaim> claims() const;
  std::vector<ClaimRecord> records() const;
  // "team/half": a claim that holds the device or one that overlaps it.
  std::optional<std::string> claim_on(std::string_view uuid) const;
  // The claims that have one of these devices themselves; for a place its GPU counts. nullopt: as
  // claimed().
  std::optional<std::vector<cluster::ObjectKey>> claims_of(
      const std::set<std::string>& uuids) const;

 private:
  Result<void> check_claims(const offer::Grant& grant) const;
  Result<void> check_grants(const dra::PreparedClaim& claim, const gpu::Machine& machine) const;

  mutable std::mutex mutex_;  // guards the members below
  mutable std::condition_variable changed_;
  GrantEntries grants_;
  ClaimEntries claims_;
  std::set<std::string> left_to_claims_;  // resources
  Changes changes_;
  GrantEntries::Shared ungranted_ = std::make_shared<const std::vector<holdings::Holding>>();
  std::function<void()> misfit_;
  bool stopped_ = false;
};

}  // namespace tranche::agent
