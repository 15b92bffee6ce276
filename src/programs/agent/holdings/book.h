#pragma once
// Who holds which part of which device on this node: one book for both wires, so that no silicon is
// ever given out twice, however calls of kubelet and changes of the node come together. Each wire
// reserves what it is about to give; under one lock that is refused, or entered and from then on in
// the way of the other. What was reserved is then committed, once it is stored, or withdrawn.
//
// Its two stores are the grant file (agent/grants/grant_store.h) and the files of claims
// (agent/dra/claim_store.h), which keep records longer than the book keeps entries. A record goes
// when it is of no use to anybody. A grant's entry goes as soon as kubelet itself would hand the
// tranche out again (docs/decisions/0023-promises.md), a claim's when the claim is undone.
//
// Thread-safe: gRPC threads reserve, the agent's loop follows the offer, threads of their own tell
// what kubelet says and ask who holds what. The lock is held for microseconds, and never while
// files are read or calls wait.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
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

  // Everything that is held or about to be, by either wire. Containers of the device plugin are
  // named as in kubelet's last answer; a claim's holding names the claim (holdings/users.h finds
  // its Pods).
  holdings::Holdings all() const;
  // The device plugin's part of it, in the order of resource and id; never null.
  GrantEntries::Shared granted() const;
  // The claims' part of it. nullopt: nobody has said yet which claims are prepared.
  std::optional<std::vector<holdings::Holding>> claimed() const;

  // The device plugin.

  // Called, by any thread, when a grant was reserved that the offer followed last does not have:
  // Allocate had begun before the change.
  void on_misfit(std::function<void()> misfit);
  // Takes the grants that were stored by an earlier agent.
  void restore(std::span<const offer::GrantRecord> records);
  // Before a grant is stored and answered. kFailedPrecondition: containers hold the device in a way
  // that does not go together with it, or a claim does, or the resource is left to claims. Then
  // nothing is entered.
  Result<void> reserve(const offer::Grant& grant);
  // The grant is stored and will be answered now; or it will not be given.
  void commit(const offer::Grant& grant);
  void withdraw(const offer::Grant& grant);
  // Leaves resources to claims, which are clients of their MPS control daemons: from now on nothing
  // of them is reserved for the device plugin. `wanted`: each with its GPUs, and with none if it is
  // left to claims whoever holds what. One of which the device plugin's containers hold a GPU is
  // not left to claims. Returns those that are; all others are the device plugin's again.
  std::set<std::string> leave_to_claims(const std::map<std::string, std::set<std::string>>& wanted);
  // The offer that Allocate serves from now on. `enforced`: whether containers of the device plugin
  // keep others of it from anything; claims always do. True: what the offer hands out has changed.
  bool follow(const offer::Offer& offer, const gpu::Machine& machine, bool enforced);
  // Sets what the tenants of these keep of their devices (Holding::part). Until then, a part counts
  // as it was granted.
  void keep(std::span<const holdings::Holding> kept);

  using Changes = GrantEntries::Changes;
  // Enters an answer of kubelet. Returns what was new to the book.
  Changes apply(const HolderAnswer& answer);
  // apply() with an answer that began no longer than `age` ago. Errors: see HolderAnswers::get().
  Result<Changes> ask(HolderAnswers& kubelet, std::chrono::milliseconds age);
  // What all calls of apply() returned since the last call of this.
  Changes take_changes();
  // Enters what kubelet's checkpoint names and the book does not have.
  void learn(const std::vector<cluster::HeldDevices>& remembered);
  // Whether kubelet has not named all of it yet.
  bool has_unnamed() const;

  // Claims.

  // Whether claims that are not prepared yet are taken from now on. When it returns false was set,
  // claims() has every claim that will ever be taken before true is set again.
  void open(bool open);
  // A call that prepares a claim is under way, from enter() to leave(). It no longer stands once
  // the claim has ended: kubelet gives a call up when the Pod is deleted, and has the claim undone
  // while the call still waits here. What it would store then nobody would ever undo.
  std::uint64_t enter(const std::string& uid);
  bool stands(const std::string& uid, std::uint64_t call) const;
  void leave(const std::string& uid, std::uint64_t call);
  // Before a claim is stored. kUnavailable: none is taken. kFailedPrecondition: containers of the
  // device plugin hold one of its devices. Which claims go together, dra/ says. An error enters
  // nothing.
  Result<void> reserve(const dra::PreparedClaim& claim, const gpu::Machine& machine);
  // The claim is stored, and this is what it has: restore() takes it out when its record is gone.
  // A claim that is not entered is ignored.
  void commit(const dra::PreparedClaim& claim, const gpu::Machine& machine);
  // The call gives up what it reserved.
  void withdraw(const std::string& uid, std::uint64_t call);
  // What a stored claim's containers need could not be made. The next commit() or restore() says
  // otherwise.
  void failed(const std::string& uid, std::string trouble);
  // The claim is undone. Calls that prepare it stand no longer.
  void end(const std::string& uid);
  // The claims that are prepared, as stored: after a start, and when another agent has ended. Those
  // that are about to be prepared stay.
  void restore(const std::map<std::string, dra::PreparedClaim>& claims,
               const gpu::Machine& machine);
  // False: nobody has said yet which claims are prepared.
  bool restored() const;

  // Counts the changes of what claims hold. await_change() returns when there was one since
  // `version`, or after a short time, for another agent's are not seen here; false: `end` has come,
  // or stop() was called.
  std::uint64_t version() const;
  bool await_change(std::uint64_t version, std::chrono::steady_clock::time_point end) const;
  // Nobody waits any more.
  void stop();

  // Claims that are entered, in the order of their uids; and those of them that are stored.
  std::vector<dra::PreparedClaim> claims() const;
  std::vector<ClaimRecord> records() const;
  // "team/half": a claim that holds the device, or something on the same silicon.
  std::optional<std::string> claim_on(std::string_view uuid) const;
  // The claims that have one of these devices itself: of a place its GPU counts. nullopt: nobody
  // has said yet what is prepared.
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
  std::function<void()> misfit_;
  bool stopped_ = false;
};

}  // namespace tranche::agent
