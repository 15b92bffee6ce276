#pragma once
// Which devices claims hold on this node, and whether new claims are taken. It keeps a GPU from
// being given out by both wires at once, whatever comes together: each side enters what it is about
// to give before it asks for what the other side has given.
//
// Thread-safe. The lock is never held while files are read or calls wait.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cluster/object.h"
#include "dra/prepared.h"
#include "gpu/machine.h"

namespace tranche::agent {

// The device and what lies on the same silicon: of a GPU its MIG instances, of an instance its GPU.
std::set<std::string> on_one_silicon(const gpu::Machine& machine, const std::string& uuid);
// What a claim's device takes: of a place the GPU and the instance there, if its UUID is known, or
// else all instances of the GPU.
std::set<std::string> silicon_of(const dra::PreparedDevice& device, const gpu::Machine& machine);

// A claim that is stored.
struct ClaimRecord {
  dra::PreparedClaim claim;
  // Why what its containers need is not there; empty: it is.
  std::string trouble = {};
};

class ClaimBook {
 public:
  // Whether claims that are not prepared yet are taken from now on. When it returns false was set,
  // all() has every claim that will ever be taken before true is set again.
  void open(bool open);

  // A call that prepares a claim is under way, from enter() to leave(). It no longer stands once
  // the claim has ended: kubelet gives a call up when the Pod is deleted, and has the claim undone
  // while the call still waits here. What it would store then nobody would ever undo.
  std::uint64_t enter(const std::string& uid);
  bool stands(const std::string& uid, std::uint64_t call) const;
  void leave(const std::string& uid, std::uint64_t call);

  // Enters a claim that is about to be prepared. kUnavailable: none is taken.
  Result<void> begin(const dra::PreparedClaim& claim, const gpu::Machine& machine);
  // The claim is stored, and this is what it has: restore() takes it out when its record is gone.
  // Of a claim that is not entered nothing is known.
  void stored(const dra::PreparedClaim& claim, const gpu::Machine& machine);
  // What a stored claim's containers need could not be made. The next stored() or restore() says
  // otherwise.
  void failed(const std::string& uid, std::string trouble);
  // Calls that prepare it stand no longer.
  void end(const std::string& uid);
  // The call gives up what it began.
  void withdraw(const std::string& uid, std::uint64_t call);
  // The claims that are prepared, as stored: after a start, and when another agent has ended. Those
  // that are about to be prepared stay.
  void restore(const std::map<std::string, dra::PreparedClaim>& claims,
               const gpu::Machine& machine);
  // False: nobody has said yet what is prepared.
  bool restored() const;

  // Counts the changes of what is entered. await_change() returns when there was one since
  // `version`, or after a short time, for another agent's are not seen here; false: `end` has come,
  // or stop() was called.
  std::uint64_t version() const;
  bool await_change(std::uint64_t version, std::chrono::steady_clock::time_point end) const;
  // Nobody waits any more.
  void stop();

  // Those entered, in the order of their uids.
  std::vector<dra::PreparedClaim> all() const;
  // Those that are stored.
  std::vector<ClaimRecord> records() const;
  // "team/half": a claim that holds the device, or something on the same silicon.
  std::optional<std::string> holder_of(std::string_view uuid) const;
  // The claims that have one of these devices itself: of a place its GPU counts. nullopt: nobody
  // has said yet what is prepared.
  std::optional<std::vector<cluster::ObjectKey>> on(const std::set<std::string>& uuids) const;
  // The same for every device that is held, by UUID.
  std::map<std::string, std::string> held() const;

 private:
  struct Entry {
    dra::PreparedClaim claim;
    std::set<std::string> uuids;
    bool stored = false;
    std::string trouble = {};  // of one that is stored
  };
  // Under mutex_.
  void put(const dra::PreparedClaim& claim, const gpu::Machine& machine, bool stored);

  mutable std::mutex mutex_;  // guards the members below
  bool open_ = false;
  bool restored_ = false;
  bool stopped_ = false;
  std::uint64_t version_ = 0;
  mutable std::condition_variable changed_;
  std::map<std::string, Entry> entries_;  // by the claim's uid
  std::set<std::pair<std::string, std::uint64_t>> calls_;
  std::uint64_t last_call_ = 0;
};

}  // namespace tranche::agent
