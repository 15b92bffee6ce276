#include "agent/health/parts.h"

#include "agent/config/cluster_node.h"
#include "agent/health/health_follower.h"
#include "agent/health/health_reporter.h"
#include "process/periodic.h"

namespace tranche::agent {
namespace {

// GPUs that fall within this time are one Event.
constexpr std::chrono::seconds kLookAtHealth{2};
constexpr std::chrono::seconds kLongestTelling{5};

class HealthTeller {
 public:
  explicit HealthTeller(const AgentContext& context)
      : reporter_({.objects = context.outside.cluster->objects(),
                   .holders = context.outside.holders,
                   .book = context.outside.book,
                   .pods = context.outside.pods,
                   .node = context.options.node_name,
                   .clock = context.clock,
                   .log = context.log}),
        teller_(kLookAtHealth, [this] { reporter_.look({.deadline = kLongestTelling}); }) {}

  void follow(const UnhealthyDevices& devices) { reporter_.follow(devices); }

 private:
  HealthReporter reporter_;
  process::Periodic teller_;  // last: its thread uses the reporter
};

// Empty where no Events may be recorded.
HealthFollower::Tell tell_health(const AgentContext& context) {
  auto* const cluster = context.outside.cluster;
  if (cluster == nullptr || (!cluster->tells() && context.outside.pods == nullptr)) return {};
  return [teller = std::make_shared<HealthTeller>(context)](const UnhealthyDevices& devices) {
    teller->follow(devices);
  };
}

}  // namespace

Parts health_parts(const AgentContext& context) {
  Parts parts;
  parts.followers.push_back(
      std::make_unique<HealthFollower>(context.outside.report, tell_health(context)));
  return parts;
}

}  // namespace tranche::agent
