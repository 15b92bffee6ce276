#pragma once
// Removes what an agent left on its node: the feature file or the labels, the condition, CDI files,
// grants and the rest of the state folder. It removes only what is ours, known by a mark, a field
// manager, or the last configuration. Running containers keep their GPUs: kubelet has its own
// record of them.
//
// Every step is idempotent, and reports what it removed.

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/objects.h"
#include "cluster/pod_resources.h"
#include "config/programs/agent_options.h"

namespace tranche::agent {

struct CleanupPlan {
  std::filesystem::path feature_file;  // empty: none
  config::LabelOutput labels = config::LabelOutput::kFile;
  bool condition = false;
  bool gpu_node = false;
  bool cdi = false;
  std::filesystem::path cdi_root;
  std::filesystem::path state_dir;
  std::string node_name;
  std::string ns;
  // What containers hold, by pod-resources and kubelet's checkpoint; nullopt: one of them is
  // unreadable, so any grant may be held.
  std::optional<std::vector<cluster::HeldDevices>> held;
  // Tenants and libraries that living containers have mounted (mounted_names()); nullopt: unknown,
  // so any may be.
  std::optional<std::set<std::string>> mounted = std::set<std::string>();

  bool needs_api_server() const {
    return condition || gpu_node || labels == config::LabelOutput::kNode ||
           labels == config::LabelOutput::kNodeFeature;
  }
  bool operator==(const CleanupPlan&) const = default;
};

// `sources`: the agent's flags and environment, which decide if the configuration is no longer
// readable; that is logged.
CleanupPlan plan_cleanup(const config::Sources& sources, const config::AgentOptions& options,
                         const Log& log);

struct CleanupStep {
  std::string what;  // "the feature file x": for messages
  // Returns what was removed, for people.
  std::function<Result<std::vector<std::string>>(const std::stop_token&)> clear;
};

// `objects`: null only if plan.needs_api_server() is false. `clock` and `objects` must outlive the
// steps.
std::vector<CleanupStep> cleanup_steps(const CleanupPlan& plan, cluster::Objects* objects,
                                       const Clock& clock);

// Waits for the given time; false: a signal asked to stop.
using CleanupWait = std::function<bool(std::chrono::milliseconds)>;

// Runs the steps in order, and repeats those that failed after 1 s, 2 s and so on, up to 30 s. The
// last step, the state folder, waits for the others because it has what they need to know. A
// failure is logged once until its text changes. False: a signal asked to stop. kTimeout at the
// deadline, with what is left and why.
Result<bool> clear_node(std::vector<CleanupStep> steps, const CleanupWait& wait,
                        std::optional<std::chrono::steady_clock::time_point> deadline,
                        const Clock& clock, const Log& log);

}  // namespace tranche::agent
