#include "agent/cleanup/cleanup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "agent/cleanup/cleanup_objects.h"
#include "agent/config/config_memory.h"
#include "agent/config/config_source.h"
#include "agent/limits/limit_hook.h"
#include "agent/node/node_turn.h"
#include "base/backoff.h"
#include "base/remove_tree.h"
#include "cdi/writer.h"
#include "labels/feature_file.h"
#include "offer/grant_record.h"

namespace tranche::agent {
namespace {

using Removed = Result<std::vector<std::string>>;

constexpr std::size_t kLongestGrants = std::size_t{64} << 20U;

Result<config::Loaded> last_config(config::Sources sources, const config::AgentOptions& options) {
  if (!options.config_file.empty() && !options.node_config) {
    const SystemClock clock;
    return FileSource(std::move(sources), options.config_file, options.config_name, clock).read();
  }
  ASSIGN_OR_RETURN(const auto kept, ConfigMemory(options.state_dir).load());
  return kept ? load_choice(*kept, std::move(sources)) : config::load(sources);
}

Removed clear_feature_file(const std::filesystem::path& path, const Clock& clock) {
  const labels::FeatureFile file(FsRoot(), path);
  if (!file.folder_exists()) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const auto owner, file.owner(clock.wall_now()));
  TRY(file.remove());
  if (owner != labels::FeatureFile::Owner::kUs) return std::vector<std::string>();
  return std::vector<std::string>{path.string()};
}

Removed clear_cdi(const std::filesystem::path& folder) {
  const FsRoot fs;
  std::vector<std::string> removed;
  if (!fs.is_directory(folder)) return removed;
  ASSIGN_OR_RETURN(const auto written, cdi::write_specs(fs, folder, {}));
  for (const auto& name : written.removed) removed.push_back((folder / name).string());
  return removed;
}

// Whether `name` is `file`, or a temporary file of it by base/fs.cpp.
bool is_file_or_temporary(std::string_view name, std::string_view file) {
  if (name == file) return true;
  return name.size() == file.size() + 8 && name.starts_with('.') &&
         name.substr(1).starts_with(file) && name[file.size() + 1] == '.';
}

bool is_state_file(std::string_view name) {
  const auto bare = name.starts_with('.') ? name.substr(1) : name;
  const bool status = bare.starts_with("agent.") && bare.contains(".status");
  const bool handover = name == kHandoverSocket || name == fmt::format("{}.new", kHandoverSocket);
  return status || handover || is_file_or_temporary(name, "config.json") ||
         is_file_or_temporary(name, "config-being-read") ||
         is_file_or_temporary(name, "layouts-being-read") || is_file_or_temporary(name, "mode");
}

// A file of agent/dra/claim_store.h, other than a record.
bool is_claims_file(std::string_view name) {
  return name == "lock" || name.ends_with(".damaged") || name.starts_with('.');
}

bool is_grants_file(std::string_view name) {
  return is_file_or_temporary(name, "grants.jsonl") || is_file_or_temporary(name, "rejected.jsonl");
}

bool is_incident_file(std::string_view name) {
  return name.ends_with(".json") || name.starts_with('.');
}

Result<void> remove_files(const std::filesystem::path& folder, bool (*wanted)(std::string_view),
                          std::vector<std::string>& removed) {
  const FsRoot fs;
  if (!fs.is_directory(folder)) return {};
  ASSIGN_OR_RETURN(const auto names, fs.list(folder));
  for (const auto& name : names) {
    if (!wanted(name)) continue;
    TRY(fs.remove(folder / name));
    removed.push_back((folder / name).string());
  }
  return {};
}

using Held = std::optional<std::vector<cluster::HeldDevices>>;
using Mounted = std::optional<std::set<std::string>>;

bool is_held(const offer::Grant& grant, const Held& held) {
  return !held || std::ranges::any_of(*held, [&](const cluster::HeldDevices& holder) {
    return holder.resource == grant.resource.value &&
           std::ranges::any_of(grant.ids, [&](const std::string& id) {
             return std::ranges::find(holder.ids, id) != holder.ids.end();
           });
  });
}

// What containers that may be restarted need on the host: kubelet replays the grants.
struct Granted {
  std::set<std::string> mounted;
  bool hook = false;        // the runtime's hook is needed
  bool unreadable = false;  // some grants are unreadable
};
bool anybody_holds(const Held& held) {
  return !held || std::ranges::any_of(*held, [](const cluster::HeldDevices& holder) {
    return holder.resource.starts_with(config::kResourcePrefix);
  });
}

// An error: the stored grants are unreadable, so anything may be needed.
Result<Granted> granted_here(const std::filesystem::path& state, const Held& held) {
  Granted granted;
  const auto text = FsRoot().read(state / "grants" / "grants.jsonl", kLongestGrants);
  if (!text && text.error().code == Code::kNotFound) return granted;
  if (!text) return std::unexpected(text.error());
  std::size_t begin = 0;
  while (begin < text->size()) {
    const auto end = std::min(text->find('\n', begin), text->size());
    const auto record = offer::decode(std::string_view(*text).substr(begin, end - begin));
    begin = end + 1;
    if (!record) granted.unreadable = true;
    if (!record || !is_held(record->grant, held)) continue;
    for (const auto& mount : record->grant.mounts) granted.mounted.insert(mount.host_path);
    for (const auto& name : record->grant.cdi_devices) granted.hook |= name == offer::kHookDevice;
  }
  return granted;
}

bool is_mounted(const std::filesystem::path& path, const std::set<std::string>& mounted) {
  const auto below = path.string() + "/";
  const auto first = mounted.lower_bound(below);
  return mounted.contains(path.string()) || (first != mounted.end() && first->starts_with(below));
}

// Removes the limits' tenants and libraries and the runtime's hook, except what a grant needs
// (kubelet could not restart its container) and what a living container has mounted. True: nothing
// is left.
Result<bool> clear_limits(const std::filesystem::path& state, const std::filesystem::path& cdi_root,
                          const Held& held, const Mounted& in_use,
                          std::vector<std::string>& removed) {
  const FsRoot fs;
  ASSIGN_OR_RETURN(const auto granted, granted_here(state, held));
  // An unreadable grant may need anything.
  const bool unknown =
      (granted.unreadable || fs.exists(state / "grants" / "rejected.jsonl")) && anybody_holds(held);
  bool all = !granted.hook && !unknown;
  if (all) {
    ASSIGN_OR_RETURN(const auto paths,
                     LimitHook({.source = {}, .state_dir = state, .cdi_root = cdi_root}).remove());
    removed.insert(removed.end(), paths.begin(), paths.end());
  }
  for (const auto* name : {"tenants", "lib"}) {
    const auto folder = state / name;
    if (!fs.is_directory(folder)) continue;
    ASSIGN_OR_RETURN(const auto entries, fs.list(folder));
    for (const auto& entry : entries) {
      auto path = folder / entry;
      const auto file = path;
      // A tenant's file goes or stays with its folder.
      if (path.extension() == ".json") path.replace_extension();
      const bool used = unknown || !in_use || in_use->contains(path.filename().string());
      if (used || is_mounted(path, granted.mounted)) {
        all = false;
        continue;
      }
      TRY(remove_tree(file));
      removed.push_back(file.string());
    }
    std::error_code not_empty;
    std::filesystem::remove(folder, not_empty);
  }
  return all;
}

// Records of claims stay while there are any, with what their containers need: kubelet ends such a
// Pod only when a driver of this name has undone its claim.
Result<void> clear_claims(const std::filesystem::path& folder, std::vector<std::string>& removed) {
  const FsRoot fs;
  if (!fs.is_directory(folder)) return {};
  ASSIGN_OR_RETURN(const auto names, fs.list(folder));
  if (!std::ranges::all_of(names, is_claims_file)) return {};
  TRY(remove_files(folder, is_claims_file, removed));
  std::error_code not_empty;
  std::filesystem::remove(folder, not_empty);
  return {};
}

// The lock file stays: this process removes it when it ends.
Removed clear_state(const std::filesystem::path& folder, const std::filesystem::path& cdi_root,
                    const Held& held, const Mounted& in_use) {
  std::vector<std::string> removed;
  ASSIGN_OR_RETURN(const bool all, clear_limits(folder, cdi_root, held, in_use, removed));
  const auto grants = folder / "grants";
  // While anything is mounted, the next agent or cleanup needs the grants.
  if (all) TRY(remove_files(grants, is_grants_file, removed));
  std::error_code not_empty;  // other files may be left
  std::filesystem::remove(grants, not_empty);
  TRY(remove_files(folder / "incidents", is_incident_file, removed));
  std::filesystem::remove(folder / "incidents", not_empty);
  TRY(clear_claims(folder / "claims", removed));
  TRY(remove_files(folder, is_state_file, removed));
  return removed;
}

// One round: runs the remaining steps and drops those that succeed. The last step waits for the
// others.
class Round {
 public:
  Round(std::vector<CleanupStep>& steps, std::map<std::string, std::string>& complaints,
        const Log& log)
      : steps_(steps), complaints_(complaints), log_(log) {}

  void make() {
    std::vector<CleanupStep> left;
    for (auto& step : steps_) {
      const bool last = &step == &steps_.back();
      if ((last && !left.empty()) || !clear(step)) left.push_back(std::move(step));
    }
    steps_ = std::move(left);
  }

 private:
  bool clear(const CleanupStep& step) {
    const auto removed = step.clear({});
    if (!removed) {
      auto& complaint = complaints_[step.what];
      if (complaint == removed.error().message()) return false;
      complaint = removed.error().message();
      log_.warn(fmt::format("{}: {}; trying again until it works", step.what, complaint));
      return false;
    }
    complaints_.erase(step.what);
    if (!removed->empty()) log_.info(fmt::format("removed {}", fmt::join(*removed, ", ")));
    return true;
  }

  std::vector<CleanupStep>& steps_;
  std::map<std::string, std::string>& complaints_;
  const Log& log_;
};

}  // namespace

CleanupPlan plan_cleanup(const config::Sources& sources, const config::AgentOptions& options,
                         const Log& log) {
  auto loaded = last_config(sources, options);
  if (!loaded) {
    log.warn(
        fmt::format("the configuration that was in force is not known, so flags and "
                    "environment tell what is to be removed: {}",
                    loaded.error().message()));
    loaded = config::load(sources);
  }
  const config::Config config = loaded ? loaded->config : config::Config();
  CleanupPlan plan{.feature_file = config.flags.gfd.output_file,
                   .labels = options.label_output,
                   .condition = options.node_config.has_value(),
                   .gpu_node = options.gpu_node,
                   .cdi = config.uses_cdi(),
                   .cdi_root = options.cdi_root,
                   .state_dir = options.state_dir,
                   .node_name = options.node_name,
                   .ns = options.kube_namespace};
  if (plan.labels == config::LabelOutput::kAuto) {
    plan.labels = config.flags.use_node_feature_api && !options.node_name.empty()
                      ? config::LabelOutput::kNodeFeature
                      : config::LabelOutput::kFile;
  }
  if (options.labels == config::LabelsMode::kOff) plan.labels = config::LabelOutput::kFile;
  return plan;
}

std::vector<CleanupStep> cleanup_steps(const CleanupPlan& plan, cluster::Objects* objects,
                                       const Clock& clock) {
  std::vector<CleanupStep> steps;
  if (!plan.feature_file.empty()) {
    steps.push_back({"the feature file " + plan.feature_file.string(),
                     [path = plan.feature_file, &clock](const std::stop_token&) {
                       return clear_feature_file(path, clock);
                     }});
  }
  if (plan.labels == config::LabelOutput::kNode) {
    steps.push_back({"the labels of Node " + plan.node_name,
                     [objects, name = plan.node_name](const std::stop_token& stop) {
                       return clear_node_labels(*objects, name, stop);
                     }});
  }
  if (plan.labels == config::LabelOutput::kNodeFeature) {
    steps.push_back({"the NodeFeature of " + plan.node_name,
                     [objects, ns = plan.ns, name = plan.node_name](const std::stop_token& stop) {
                       return clear_node_feature(*objects, ns, name, stop);
                     }});
  }
  if (plan.condition) {
    steps.push_back({"the condition of Node " + plan.node_name,
                     [objects, name = plan.node_name](const std::stop_token& stop) {
                       return clear_condition(*objects, name, stop);
                     }});
  }
  if (plan.gpu_node) {
    steps.push_back({"the GPUNode of " + plan.node_name,
                     [objects, name = plan.node_name](const std::stop_token& stop) {
                       return clear_gpu_node(*objects, name, stop);
                     }});
  }
  if (plan.cdi) {
    steps.push_back(
        {"the CDI files in " + plan.cdi_root.string(),
         [folder = plan.cdi_root](const std::stop_token&) { return clear_cdi(folder); }});
  }
  steps.push_back({"the state folder " + plan.state_dir.string(),
                   [folder = plan.state_dir, cdi_root = plan.cdi_root, held = plan.held,
                    mounted = plan.mounted](const std::stop_token&) {
                     return clear_state(folder, cdi_root, held, mounted);
                   }});
  return steps;
}

Result<bool> clear_node(std::vector<CleanupStep> steps, const CleanupWait& wait,
                        std::optional<std::chrono::steady_clock::time_point> deadline,
                        const Clock& clock, const Log& log) {
  std::map<std::string, std::string> complaints;
  Backoff backoff;
  while (true) {
    Round(steps, complaints, log).make();
    if (steps.empty()) return true;
    if (deadline && clock.now() + backoff.wait() > *deadline) break;
    if (!wait(backoff.next())) return false;
  }
  std::vector<std::string> left;
  for (const auto& step : steps) {
    const auto why = complaints.find(step.what);
    left.push_back(why == complaints.end() ? step.what
                                           : fmt::format("{} ({})", step.what, why->second));
  }
  return fail(Code::kTimeout, fmt::format("not removed in time: {}", fmt::join(left, "; ")),
              "mend that and run it again");
}

}  // namespace tranche::agent
