#pragma once
// The DRA driver of this node: publishes what claims can get, prepares claims for kubelet, and
// follows the hardware and the node's mode. Used by the agent's loop; kubelet's calls come on the
// server's threads.
//
// It serves in both modes: earlier claims must be undone also where the node takes no new ones, and
// where DRA was turned off since.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/dra/claim_cuts.h"
#include "agent/dra/claim_preparer.h"
#include "agent/dra/claim_standing.h"
#include "agent/dra/claim_status.h"
#include "agent/dra/claim_store.h"
#include "agent/dra/claim_sweep.h"
#include "agent/dra/class_watch.h"
#include "agent/dra/drain_servers.h"
#include "agent/dra/ill_since.h"
#include "agent/dra/slice_publisher.h"
#include "agent/holdings/book.h"
#include "agent/limits/claim_tenant.h"
#include "agent/loop/follower.h"
#include "agent/node/condition_report.h"
#include "agent/plugins/cdi_inputs.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/retrier.h"
#include "cdi/spec.h"
#include "config/programs/agent_options.h"
#include "dra/server.h"
#include "offer/offer.h"

namespace tranche::agent {

// Minimum time between two reorderings of the same devices: each wakes every scheduler.
inline constexpr std::chrono::seconds kBetweenOrders{2};
// Time between two searches for claims that kubelet has forgotten. Each asks the API server for
// every claim of the node.
inline constexpr std::chrono::minutes kBetweenSweeps{10};

class ClaimService {
 public:
  using TimePoint = Follower::TimePoint;
  struct Ports {
    // null: this agent was not told to serve claims. It takes none, publishes nothing, and has
    // those undone that were prepared before (agent/dra/drain_servers.h).
    cluster::Objects* objects;
    cluster::PodResources& kubelet;
    Book& book;
    // kUnavailable: the Node is not known yet.
    std::function<Result<cluster::Node>()> node;
    std::string boot;
    // See ClaimPreparer::Ports.
    std::function<Result<void>(const std::string& tenant, const GrantLimits& limits, bool renewed)>
        add_tenant;
    std::function<Result<void>(const std::string& tenant)> remove_tenant;
    std::unique_ptr<InstanceMaker> instances;  // null: no MIG instances for claims
    // What limited containers mount. An error: they cannot be limited here.
    std::function<Result<offer::LimitMounts>()> mounts;
    // Installs the runtime's hook for containers with limits if `wanted`; nullopt: it is not.
    // Errors: containers cannot be limited as configured.
    std::function<Result<std::optional<cdi::Hook>>(bool wanted)> hook;
    // ClaimPreparer::Ports::pod.
    std::function<std::optional<cluster::Pod>(const std::string& uid,
                                              std::chrono::steady_clock::time_point end)>
        pod;
    // Writes a condition of the Node; empty: nobody is told.
    std::function<void(const ConditionReport&)> report = {};
    std::function<void()> look_again;  // has the agent make a new offer; from any thread
    const Clock& clock;
    const Log& log;
  };

  ClaimService(const config::AgentOptions& options, Ports ports);
  // Whether it takes claims, in the node's mode dra.
  bool serves() const { return ports_.objects != nullptr; }
  ~ClaimService() { stop(); }
  ClaimService(const ClaimService&) = delete;
  ClaimService& operator=(const ClaimService&) = delete;

  // Called by the input. `wished`: see Input::look().
  ClaimStanding standing(const State& state, const offer::Offer& wished);

  void follow(const Round& round);
  void tick(TimePoint now);
  std::optional<TimePoint> next_tick() const { return next_; }
  // A remark for people; empty: none.
  std::string remark() const;
  // The next agent takes over: this one answers kubelet until then, and stops publishing.
  void rest();
  // The next agent serves.
  void leave();
  // The predecessor has ended: reads what it prepared.
  void look_at_store();

  // The Pods that a claim is reserved for; one without a name if they are unknown.
  std::vector<cluster::ObjectKey> users_of(const cluster::ObjectKey& claim) const;
  // All prepared claims. kUnavailable: not known yet.
  Result<std::vector<ClaimTenant>> tenants() const;

 private:
  struct MadeOf {
    std::uint64_t book = 0;  // Book::version()
    dra::Dropped dropped;
    bool operator==(const MadeOf&) const = default;
  };

  ClaimPreparer::Ports preparer_ports();
  void stop();
  void look_at_limits(ClaimStanding& standing) const;
  static void keep_mps_gpus_whole(ClaimStanding& standing);
  void take_node(const Round& round);
  ClaimNode make_node(const State& state, CdiInputs inputs) const;
  void publish(TimePoint now);
  MadeOf made_of_now() const;
  std::string gates_off(bool takes) const;
  Result<void> start();
  Result<void> serve();
  void ask_for_cuts();
  Result<void> look_for_cuts();
  Result<std::unique_ptr<dra::Server>> start_server(const std::string& name, dra::Driver& driver,
                                                    const dra::HealthBoard& health);
  std::set<std::string> names_to_drain() const;
  void look_at_drain();
  void tell_drain();
  bool rests_empty();
  void sweep(TimePoint now);
  void registered(const std::string& name, const Result<void>& answer);

  const config::AgentOptions options_;
  const Ports ports_;
  const FsRoot host_;
  const dra::PoolNames names_;
  const std::string pool_;
  ClaimStore store_;
  ClaimCuts cuts_;
  dra::HealthBoard health_;
  ClaimPreparer preparer_;
  std::optional<ClaimSweep> sweep_;      // of the starter's thread
  std::optional<ConditionReport> told_;  // of the loop

  mutable std::mutex mutex_;               // guards the members up to the blank line
  std::shared_ptr<const ClaimNode> node_;  // null before the first reading of the hardware
  std::string no_node_;                    // why no claim can be prepared
  std::string refused_;                    // kubelet's answer to the registration; empty: accepted
  std::unique_ptr<dra::Server> server_;
  dra::Dropped dropped_;
  std::optional<std::vector<cluster::SliceDevice>> listed_;  // the GPUs of the pool made last

  std::optional<State> state_;  // followed last
  IllSince ill_;
  std::optional<dra::Pool> published_;  // passed to the publisher last
  std::optional<MadeOf> made_of_;       // of the last pool; nullopt: make one anyway
  TimePoint published_at_{};
  std::optional<TimePoint> next_;
  TimePoint look_at_server_{};
  std::optional<TimePoint> sweep_at_;  // nullopt: this agent has not served yet
  std::optional<SlicePublisher> publisher_;
  std::optional<ClaimStatusWriter> status_writer_;
  std::optional<ClassWatch> classes_;
  DrainServers drain_;              // of the starter's thread
  std::optional<Retrier> starter_;  // last: its thread uses the others
};

}  // namespace tranche::agent
