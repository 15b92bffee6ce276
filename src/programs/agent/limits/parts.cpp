#include "agent/limits/parts.h"

#include <filesystem>
#include <utility>

#include "agent/config/cluster_node.h"
#include "agent/limits/arbiter_watch.h"
#include "agent/limits/eviction_follower.h"
#include "agent/limits/finding_reporter.h"
#include "agent/limits/limit_overrides.h"
#include "agent/limits/limit_stage.h"
#include "agent/limits/tenant_follower.h"
#include "process/periodic.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kLookAtFindings{2};
constexpr std::chrono::seconds kLongestLook{5};

// Watches this node's arbiter and its findings, on its own thread.
class Findings {
 public:
  explicit Findings(const AgentContext& context)
      : reporter_(context.outside.cluster->objects(), context.outside.cluster->node(),
                  *context.outside.pods, context.outside.book,
                  {.arbiter_dir = context.options.arbiter_state_dir,
                   .asks = context.options.ask_evictions},
                  context.clock, context.log),
        arbiter_(context.options.arbiter_state_dir, context.outside.report, context.clock,
                 context.log),
        finder_(kLookAtFindings, [this] {
          arbiter_.look();
          reporter_.look({.deadline = kLongestLook});
        }) {}

  void follow(EvictPolicy policy) { reporter_.follow(std::move(policy)); }

 private:
  FindingReporter reporter_;
  ArbiterWatch arbiter_;
  process::Periodic finder_;  // last: its thread uses the others
};

// Without a cluster or an arbiter, nobody is asked to evict.
std::function<void(EvictPolicy)> report_findings(const AgentContext& context) {
  auto* const cluster = context.outside.cluster;
  if (cluster == nullptr) return {};
  if (context.options.arbiter_state_dir.empty()) {
    cluster->withdraw(cluster::condition::kTrancheArbiterRuns);
    return {};
  }
  return [findings = std::make_shared<Findings>(context)](EvictPolicy policy) {
    findings->follow(std::move(policy));
  };
}

std::unique_ptr<LimitOverrides> follow_overrides(const AgentContext& context) {
  auto* const cluster = context.outside.cluster;
  if (cluster == nullptr || context.options.arbiter_state_dir.empty()) return nullptr;
  return std::make_unique<LimitOverrides>(cluster->objects(), cluster->node(),
                                          *context.outside.pods, context.outside.book,
                                          context.clock, context.log);
}

std::unique_ptr<TenantFollower> follow_tenants(const AgentContext& context) {
  return std::make_unique<TenantFollower>(TenantFollower::Parts{
      .tenants = *context.tenants,
      .grants = *context.grants,
      .book = context.outside.book,
      .holders = context.outside.holders,
      .interval = std::chrono::ceil<std::chrono::milliseconds>(context.options.grants_interval),
      .living = LivingTenants(FsRoot(), context.options.arbiter_state_dir, context.clock),
      .overrides = follow_overrides(context),
      .renew_checkpoint = context.renew_checkpoint,
      .tell_stored = [report = context.outside.report](const Result<void>& stored) {
        if (report) report(stored_condition(stored));
      }});
}

}  // namespace

std::unique_ptr<TenantManager> make_tenants(const AgentContext& context) {
  if (context.grants == nullptr) return nullptr;
  const std::filesystem::path library = context.options.limit_library;
  return std::make_unique<TenantManager>(
      TenantManager::Options{.library = library.empty() ? library_next_to_program() : library,
                             .state_dir = context.options.state_dir,
                             .cdi_root = context.options.cdi_root},
      *context.grants, context.clock, context.log);
}

Parts limits_parts(const AgentContext& context) {
  Parts parts;
  parts.inputs.push_back(std::make_unique<LimitInput>(context.tenants));
  parts.stages = {offer_what_can_be_limited};
  if (context.tenants != nullptr) parts.followers.push_back(follow_tenants(context));
  const bool somebody_evicts =
      context.options.ask_evictions && !context.options.arbiter_state_dir.empty();
  parts.followers.push_back(
      std::make_unique<EvictionFollower>(report_findings(context), somebody_evicts, context.log));
  return parts;
}

}  // namespace tranche::agent
