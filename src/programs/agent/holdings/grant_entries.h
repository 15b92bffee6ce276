#pragma once
// The grants in the book (book.h): those that may not be over, and what kubelet names beyond them
// (grants of NVIDIA's plugin before a takeover, grants with lost records). Used under the book's
// lock.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/holdings/holder_answers.h"
#include "base/clock.h"
#include "base/result.h"
#include "cluster/pod_resources.h"
#include "gpu/machine.h"
#include "holdings/holding.h"
#include "holdings/silicon.h"
#include "offer/grant_record.h"
#include "offer/offer.h"
#include "offer/room.h"

namespace tranche::agent {

// Functions as in Book, where they have the same name.
class GrantEntries {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // A grant that kubelet has never named is over after this time. Kubelet names it within
  // milliseconds of Allocate's answer, unless its Pod has failed.
  static constexpr std::chrono::seconds kSettle{10};

  // The book's excerpt of offer and machine.
  struct Followed {
    struct Offered {
      config::ResourceName resource;
      offer::Room room;
      bool operator==(const Offered&) const = default;
    };
    static Followed make(const offer::Offer& offer, const gpu::Machine& machine, bool enforced);

    std::unordered_map<std::string, Offered> offered{};  // by device
    holdings::Silicon silicon{};                         // of the machine
    bool enforced = false;
  };

  explicit GrantEntries(const Clock& clock) : clock_(clock) {}

  void restore(std::span<const offer::GrantRecord> records);
  static std::vector<holdings::Holding> wanted_by(const offer::Grant& grant);
  // `wanted`: of the grant. kFailedPrecondition: containers of the device plugin hold a device in a
  // conflicting way.
  Result<void> check(const offer::Grant& grant, std::span<const holdings::Holding> wanted) const;
  void enter(std::vector<holdings::Holding> wanted);
  void commit(const offer::Grant& grant);
  void withdraw(const offer::Grant& grant);
  bool follow(Followed followed);
  void keep(std::span<const holdings::Holding> kept);

  bool fits(const offer::Grant& grant) const;
  // In the order of resource and id. The same vector until something changes.
  using Shared = std::shared_ptr<const std::vector<holdings::Holding>>;
  Shared all() const;
  std::vector<holdings::Holding> on(const std::set<std::string>& uuids) const;
  // Silicon::gpu_of() of the last followed machine.
  std::string gpu_of(std::string_view uuid) const { return followed_.silicon.gpu_of(uuid); }

  // What an answer of kubelet changed.
  struct Changes {
    bool came = false;     // grants that the book did not have
    bool changed = false;  // some are over, or have another Pod
    // Some may be over: only the checkpoint names them, which may be old, or they are too young.
    bool unclear = false;
  };
  Changes apply(const HolderAnswer& answer);
  void learn(const std::vector<cluster::HeldDevices>& remembered);
  bool has_unnamed() const;

 private:
  struct Entry {
    holdings::Holding holding;
    TimePoint given;  // or when it was entered; kNotYet: not answered yet
    // When an earlier agent granted it, Unix time; 0: long ago. nullopt: granted by this agent.
    std::optional<std::int64_t> earlier_ms{};
    bool named = false;  // by kubelet
  };
  using Entries = std::vector<Entry>;
  using Key = std::pair<std::string, std::string>;  // (resource, id)
  // What was over at kubelet's last answer. A starting kubelet may name none of its containers for
  // a while; the grant of one that it names again is still stored.
  struct Past {
    holdings::Holding holding;
    TimePoint over;
  };
  static constexpr std::chrono::minutes kRemember{2};
  static constexpr TimePoint kNotYet = TimePoint::max();
  // (resource, id) -> its container
  using Named =
      std::map<std::pair<std::string_view, std::string_view>, const cluster::HeldDevices*>;

  void add_conflicts(const holdings::Holding& wanted, std::vector<holdings::Holding>& found) const;
  void add_crowd(const offer::Grant& grant, const std::string& uuid,
                 std::vector<holdings::Holding>& found) const;
  void put(Entry entry);
  void take_out(const config::ResourceName& resource, const std::string& id);
  Entry* find(const config::ResourceName& resource, const std::string& id);
  bool add_unknown(const std::vector<cluster::HeldDevices>& held);
  void remember(holdings::Holding holding);
  holdings::Holding known(const config::ResourceName& resource, const std::string& id);
  bool is_over(Entry& entry, const HolderAnswer& answer, const Named& listed,
               const Named& remembered, Changes& changes) const;
  std::chrono::milliseconds age_of(const Entry& entry, TimePoint now) const;
  holdings::Holding with_gpu(const holdings::Holding& holding) const;
  std::int64_t unix_time_ms() const;

  const Clock& clock_;
  std::unordered_map<std::string, Entries> held_;  // by device
  std::map<Key, Past> past_;
  mutable Shared all_;   // null: something may have changed since it was made
  mutable Shared last_;  // what all() gave last; null: nothing yet
  Followed followed_;
};

}  // namespace tranche::agent
