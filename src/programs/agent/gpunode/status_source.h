#pragma once
// The wanted status of the node's GPUNode: made again when the agent has a new offer, when the book
// of holdings changed, and now and then from the Pods, which have more names. follow() may be
// called by any thread, the others by one.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/holdings/book.h"
#include "agent/loop/state.h"
#include "cluster/formats/gpu_node.h"
#include "cluster/pod.h"
#include "holdings/holdings.h"

namespace tranche::agent {

class StatusSource {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Parts {
    Book& book;
    // Enters kubelet's present answer in the book. May be empty.
    std::function<void()> ask = {};
    // Those of the node; nullopt: unknown. Empty: nobody may read them.
    std::function<std::optional<std::vector<cluster::Pod>>()> pods = {};
    std::string driver_name;  // of DRA
  };
  // How often the Pods are read while something is held.
  static constexpr std::chrono::seconds kReadPods{5};

  explicit StatusSource(Parts parts) : parts_(std::move(parts)) {}

  void follow(const State& state, std::shared_ptr<const offer::Offer> offer);
  // null: the hardware has not been read yet. The same pointer until something changes.
  std::shared_ptr<const cluster::GpuNodeStatus> status(TimePoint now);
  void ask_names();

 private:
  struct Seen {
    State state;
    std::shared_ptr<const offer::Offer> offer;
  };
  // The sources of the status. The pointers are held, so that their addresses are not reused.
  struct MadeOf {
    std::shared_ptr<const Seen> seen;
    GrantEntries::Shared granted;
    std::uint64_t claims = 0;
    GrantEntries::Shared ungranted;
    bool operator==(const MadeOf&) const = default;
  };
  MadeOf made_of_now() const;
  holdings::Holdings held_now(TimePoint now);
  void make();

  const Parts parts_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Seen> seen_;  // guarded by mutex_; null: nothing yet

  MadeOf made_of_;
  holdings::Holdings held_;
  std::optional<TimePoint> pods_due_;  // nullopt: nothing is held
  std::shared_ptr<const cluster::GpuNodeStatus> status_;
};

}  // namespace tranche::agent
