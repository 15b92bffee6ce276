#pragma once
// Takes away what an agent left on its node: the feature file or the labels, the condition, CDI
// files, grants and what else is in the state folder. Only what is ours: of each thing its owner is
// known (a mark, a field manager, the configuration that was in force). Containers that run keep
// their GPUs: kubelet has its own record of them.
//
// Every step can be made again at any time, finds nothing then, and says what it removed.

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/objects.h"
#include "cluster/pod_resources.h"
#include "config/programs/agent_options.h"

namespace tranche::agent {

// What there may be on a node, by its settings.
struct CleanupPlan {
  std::filesystem::path feature_file;  // empty: none
  config::LabelOutput labels = config::LabelOutput::kFile;
  bool condition = false;
  bool cdi = false;
  std::filesystem::path cdi_root;
  std::filesystem::path state_dir;
  std::string node_name;
  std::string ns;
  // What containers hold; nullopt: kubelet does not tell, so every grant may be held.
  std::optional<std::vector<cluster::HeldDevices>> held;

  bool needs_api_server() const {
    return condition || labels == config::LabelOutput::kNode ||
           labels == config::LabelOutput::kNodeFeature;
  }
  bool operator==(const CleanupPlan&) const = default;
};

// `sources`: the agent's flags and environment. A configuration that cannot be read (any more) is
// reported, and flags and environment decide.
CleanupPlan plan_cleanup(const config::Sources& sources, const config::AgentOptions& options,
                         const Log& log);

struct CleanupStep {
  std::string what;  // "the feature file x": for messages
  // What it removed, for people.
  std::function<Result<std::vector<std::string>>(const std::stop_token&)> clear;
};

// `objects`: null where plan.needs_api_server() is false. `clock` and `objects` must outlive them.
std::vector<CleanupStep> cleanup_steps(const CleanupPlan& plan, cluster::Objects* objects,
                                       const Clock& clock);

// Waits so long; false: told to stop.
using CleanupWait = std::function<bool(std::chrono::milliseconds)>;

// Makes every step until it succeeded, in order (the last, the state folder, tells what the others
// are about), waiting 1 s, 2 s, ... up to 30 s between rounds. A failure is logged once until its
// text changes. False: told to stop. kTimeout at the deadline, with what is left and why.
Result<bool> clear_node(std::vector<CleanupStep> steps, const CleanupWait& wait,
                        std::optional<std::chrono::steady_clock::time_point> deadline,
                        const Clock& clock, const Log& log);

}  // namespace tranche::agent
