#pragma once
// Which tranches containers hold, and under which promise: what was granted and is not known to be
// over, and what kubelet says beyond that (grants of NVIDIA's plugin before a takeover, grants
// whose records are lost). It decides whether Allocate may hand out a tranche, so that two promises
// that exclude each other are never made, however a change of the configuration and a call of
// kubelet come together.
//
// The grant store keeps records longer than the book keeps promises. A record goes when it is of no
// use to anybody (holders.h). A promise is over as soon as kubelet itself would hand the tranche
// out again (docs/decisions/0023-promises.md).
//
// Thread-safe: gRPC threads admit grants, the agent's loop follows the offer, a thread of its own
// tells what kubelet says. The lock is held for microseconds.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/node/holder_answers.h"
#include "base/clock.h"
#include "base/result.h"
#include "cluster/pod_resources.h"
#include "gpu/machine.h"
#include "offer/grant_record.h"
#include "offer/offer.h"
#include "offer/room.h"

namespace tranche::agent {

class PromiseBook {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // A grant that kubelet has never named is over after this time. Kubelet names it within
  // milliseconds of the answer of Allocate, unless its Pod has failed.
  static constexpr std::chrono::seconds kSettle{10};

  // `clock` outlives it. `misfit`: called, by any thread, when a grant was admitted that the offer
  // followed last does not have: Allocate had begun before the change.
  explicit PromiseBook(const Clock& clock, std::function<void()> misfit = {});

  // Takes the grants that were stored by an earlier agent.
  void restore(std::span<const offer::GrantRecord> records);

  // Records what a grant promises, before it is answered. kFailedPrecondition: containers hold the
  // device under a promise that does not go together with it. Then nothing is recorded.
  Result<void> admit(const offer::Grant& grant);
  // After admit(): the grant is stored and will be answered now; or it will not be given.
  void give(const offer::Grant& grant);
  void withdraw(const offer::Grant& grant);

  // The offer that Allocate serves from now on. `enforced`: whether admit() refuses anything. True:
  // what the offer hands out has changed.
  bool follow(const offer::Offer& offer, const gpu::Machine& machine, bool enforced);
  // Everything that is held.
  std::vector<offer::Promise> all() const;
  // What the tenants of these promises keep of their devices from now on (Promise::part). Until it
  // is told, a part counts as it was granted.
  void keep(std::span<const offer::Promise> promises);

  // What kubelet says.
  struct Heard {
    bool came = false;     // promises that the book did not have
    bool changed = false;  // some are over, or have another Pod
    // Of some it is not clear whether they are over: the checkpoint alone names them and may be
    // old, or they are too young.
    bool unclear = false;
  };
  Heard hear(const HolderAnswer& answer);
  // What the checkpoint names is held, and some of it the book does not have.
  void learn(const std::vector<cluster::HeldDevices>& remembered);
  // Whether kubelet has not named all of it yet.
  bool has_unheard() const;

 private:
  struct Entry {
    offer::Promise promise;
    TimePoint given;  // or when the book took it; kNotYet: it is not answered yet
    // When an earlier agent granted it, Unix time; 0: long ago. nullopt: this agent did.
    std::optional<std::int64_t> earlier_ms{};
    bool heard = false;  // kubelet has named it
  };
  // One device of the offer.
  struct Offered {
    config::ResourceName resource;
    offer::Room room;
    bool operator==(const Offered&) const = default;
  };
  using Entries = std::vector<Entry>;
  static constexpr TimePoint kNotYet = TimePoint::max();
  // (resource, id) -> Pod
  using Named = std::map<std::pair<std::string_view, std::string_view>, std::string>;

  // The functions below are called under mutex_.
  std::vector<offer::Promise> against(const offer::Grant& grant) const;
  void add_conflicts(const offer::Grant& grant, const std::string& id,
                     std::vector<offer::Promise>& found) const;
  void add_crowd(const offer::Grant& grant, const std::string& uuid,
                 std::vector<offer::Promise>& found) const;
  bool fits(const offer::Grant& grant) const;
  void put(Entry entry);
  void take_out(const config::ResourceName& resource, const std::string& id);
  Entry* find(const config::ResourceName& resource, const std::string& id);
  bool add_unknown(const std::vector<cluster::HeldDevices>& held);
  bool is_over(Entry& entry, const HolderAnswer& answer, const Named& listed,
               const Named& remembered, Heard& heard) const;
  std::chrono::milliseconds age_of(const Entry& entry, TimePoint now) const;
  std::string gpu_of(std::string_view uuid) const;
  std::int64_t unix_time_ms() const;

  const Clock& clock_;
  const std::function<void()> misfit_;
  mutable std::mutex mutex_;                           // guards the members below
  std::unordered_map<std::string, Entries> held_;      // by device
  std::unordered_map<std::string, Offered> offered_;   // by device
  std::unordered_map<std::string, std::string> gpus_;  // the GPU of each device of the machine
  // A GPU's MIG instances and an instance's GPU.
  std::unordered_map<std::string, std::vector<std::string>> related_;
  bool enforced_ = false;
};

}  // namespace tranche::agent
