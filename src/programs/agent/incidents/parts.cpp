#include "agent/incidents/parts.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "agent/config/cluster_node.h"
#include "agent/holdings/book.h"
#include "agent/incidents/incident_reporter.h"
#include "agent/node/pods_of_node.h"
#include "holdings/users.h"
#include "process/host_name.h"
#include "process/periodic.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kLookEvery{2};
constexpr std::chrono::seconds kLongestLook{5};
// Accepted age of kubelet's answer to somebody else.
constexpr std::chrono::milliseconds kFresh{1500};

IncidentReporter::Ports ports_of(const AgentContext& context) {
  auto& book = context.outside.book;
  auto* const pods = context.outside.pods;
  auto* const cluster = context.outside.cluster;
  const auto& node = context.options.node_name;
  return {.state_dir = context.options.state_dir,
          .arbiter_dir = context.options.arbiter_state_dir,
          .held =
              [&book, pods, &holders = context.outside.holders] {
                (void)book.ask(holders, kFresh);  // else names are as they were last known
                const auto all = pods == nullptr ? nullptr : pods->shared();
                return all == nullptr ? book.all() : holdings::with_users(book.all(), *all);
              },
          // Where no arbiter runs, the chart gives no permission for Events of Pods.
          .objects = cluster == nullptr || context.options.arbiter_state_dir.empty()
                         ? nullptr
                         : &cluster->objects(),
          .node = node.empty() ? process::host_name() : node,
          .clock = context.clock,
          .log = context.log};
}

// Passes XIDs on to the reporter, which works on a thread of its own.
class IncidentFollower final : public Follower {
 public:
  explicit IncidentFollower(IncidentReporter::Ports ports) : reporter_(std::move(ports)) {
    thread_.emplace(kLookEvery, [this] { reporter_.look({.deadline = kLongestLook}); });
  }

  Result<void> follow(const Round& round) override {
    const auto& xids = round.state.get<LastXids>();
    const auto fresh = std::min<std::uint64_t>(xids.count - seen_, xids.recent.size());
    seen_ = xids.count;
    if (fresh == 0) return {};
    reporter_.heard({xids.recent.end() - static_cast<std::ptrdiff_t>(fresh), xids.recent.end()},
                    *round.state.machine);
    return {};
  }
  // The next agent keeps the files.
  void rest() override { thread_.reset(); }
  void finish() override { thread_.reset(); }

 private:
  IncidentReporter reporter_;
  std::uint64_t seen_ = 0;
  std::optional<process::Periodic> thread_;  // last: it uses the reporter
};

}  // namespace

Parts incidents_parts(const AgentContext& context) {
  Parts parts;
  if (context.grants == nullptr) return parts;  // the state folder cannot be used
  parts.followers.push_back(std::make_unique<IncidentFollower>(ports_of(context)));
  return parts;
}

}  // namespace tranche::agent
