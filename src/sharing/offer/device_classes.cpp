#include "offer/device_classes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "offer/devices.h"

namespace tranche::offer {
namespace {

using config::MigStrategy;
using config::ResourceName;
using gpu::Gpu;
using gpu::MigInstance;

// A card for displays in DGX stations. NVML lists it, but it is not for computing.
bool display_only(const Gpu& gpu) {
  return gpu.name == "DGX Display" || gpu.name == "NVIDIA DGX Display";
}

std::optional<ResourceName> match(const std::vector<config::ResourcePattern>& patterns,
                                  const std::string& text) {
  const auto found = std::ranges::find_if(
      patterns, [&](const auto& entry) { return config::matches_pattern(entry.pattern, text); });
  return found == patterns.end() ? std::nullopt : std::optional(found->name);
}

// "1g.5gb+me" -> nvidia.com/mig-1g.5gb.me, "1c.3g.20gb" -> nvidia.com/mig-1c.3g.20gb
ResourceName mig_resource(std::string profile) {
  std::ranges::replace(profile, '+', '.');
  return {"nvidia.com/mig-" + profile};
}

constexpr const char* kMigRemedy =
    "give the agent CAP_SYS_ADMIN and NVIDIA_MIG_MONITOR_DEVICES=all (mig.monitor=true in the "
    "chart's values)";

std::string refused_instances(const Gpu& gpu) {
  return fmt::format("the driver does not tell this container the MIG instances of GPU {} ({}): {}",
                     gpu.index, gpu.uuid.value, gpu.mig_refused);
}

// A missing privilege concerns every GPU, and has a remedy of its own.
bool is_unread(const Gpu& gpu) { return !gpu.mig_unread.empty() && gpu.mig_refused.empty(); }

std::string unread_layout(const Gpu& gpu) {
  return fmt::format(
      "the driver does not tell the MIG layout of GPU {} ({}): {}; look for NVRM messages in the "
      "kernel log of the node, reset the GPU or reboot the node; it is read again",
      gpu.index, gpu.uuid.value, gpu.mig_unread);
}

// Walks over a machine once and gathers the classes into `out`.
class Classifier {
 public:
  Classifier(const config::Config& config, const gpu::HealthReport& health)
      : config_(config), health_(health) {}

  void add_whole(const Gpu& gpu) { out.by_name[name_of(gpu)].push_back(device_of(gpu, health_)); }

  // Unknown whether it is whole or in instances.
  void add_unread(const Gpu& gpu) {
    add_whole(gpu);
    out.objections.emplace(gpu.uuid.value, unread_layout(gpu));
  }

  // Strategy single: every instance is a "gpu".
  void add_instances_as_gpus(const Gpu& gpu) {
    for (const MigInstance& instance : gpu.mig_instances) {
      add_instance(gpu, instance, name_as_gpu(instance));
    }
  }

  // Strategy single: the resources that these GPUs and their instances would have.
  void withhold_all(const std::vector<const Gpu*>& gpus, const std::string& why) {
    for (const Gpu* gpu : gpus) {
      if (!gpu->mig_enabled() || gpu->mig_instances.empty()) {
        out.withheld.try_emplace(gpu->mig_enabled() ? ResourceName{kGpu} : name_of(*gpu), why);
      }
      for (const auto& instance : gpu->mig_instances) {
        out.withheld.try_emplace(name_as_gpu(instance), why);
      }
    }
  }

  // Strategy mixed: each profile is a resource of its own.
  void add_instances_by_profile(const Gpu& gpu) {
    if (!gpu.mig_refused.empty()) {
      out.withheld.try_emplace(ResourceName{"nvidia.com/mig-*"},
                               fmt::format("{}; {}", refused_instances(gpu), kMigRemedy));
    } else if (is_unread(gpu)) {
      out.withheld.try_emplace(ResourceName{"nvidia.com/mig-*"}, unread_layout(gpu));
    } else if (gpu.mig_instances.empty()) {
      warn(
          "GPU {} ({}) has MIG enabled and no MIG instances, so it offers nothing; create "
          "instances on it or disable MIG",
          gpu.index, gpu.uuid.value);
    }
    for (const MigInstance& instance : gpu.mig_instances) {
      const std::string& profile = instance.profile.name;
      add_instance(gpu, instance, name_by_profile(instance).value_or(mig_resource(profile)));
    }
  }

  // Patterns that match no device at all.
  void warn_of_idle_patterns() {
    warn_of_idle(config_.gpus, gpus_seen_, "resources.gpus", "GPU");
    // They may match instances that cannot be read.
    if (out.withheld.empty())
      warn_of_idle(config_.migs, profiles_seen_, "resources.mig", "MIG instance");
  }

  template <class... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) {
    out.warnings.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  DeviceClasses out;

 private:
  static constexpr const char* kGpu = "nvidia.com/gpu";

  ResourceName name_of(const Gpu& gpu) {
    gpus_seen_.insert(gpu.name);
    return match(config_.gpus, gpu.name).value_or(ResourceName{kGpu});
  }

  std::optional<ResourceName> name_by_profile(const MigInstance& instance) {
    profiles_seen_.insert(instance.profile.name);
    return match(config_.migs, instance.profile.name);
  }

  ResourceName name_as_gpu(const MigInstance& instance) {
    return name_by_profile(instance).value_or(ResourceName{kGpu});
  }

  void warn_of_idle(const std::vector<config::ResourcePattern>& patterns,
                    const std::set<std::string>& seen, const char* field, const char* kind) {
    for (const auto& one : patterns) {
      const bool matches = std::ranges::any_of(
          seen, [&](const auto& text) { return config::matches_pattern(one.pattern, text); });
      // The configuration's reader has already warned about an empty one.
      if (matches || one.pattern.empty()) continue;
      warn(
          "{}: '{}' matches no {} that this node advertises ({}), so it does nothing; correct the "
          "pattern ('*' stands for anything), or ignore this if other nodes use it",
          field, one.pattern.substr(0, 80), kind,
          seen.empty() ? "it has none" : fmt::format("{}", fmt::join(seen, ", ")));
    }
  }

  void add_instance(const Gpu& gpu, const MigInstance& instance, const ResourceName& name) {
    out.by_name[name].push_back(device_of(gpu, instance, health_));
  }

  const config::Config& config_;
  const gpu::HealthReport& health_;
  // What the patterns were compared with.
  std::set<std::string> gpus_seen_;
  std::set<std::string> profiles_seen_;
};

// GPUs that can be offered at all. A GPU that has not answered since the agent started has no UUID,
// so it cannot be offered.
std::vector<const Gpu*> usable(const gpu::Machine& machine, Classifier& classifier) {
  std::vector<const Gpu*> out;
  for (const Gpu& gpu : machine.gpus) {
    if (display_only(gpu)) continue;
    if (gpu.uuid.value.empty()) {
      classifier.warn(
          "GPU {} cannot be read ({}) and is not offered until it answers; see the "
          "kernel log of the node",
          gpu.index, gpu.presence_reason);
      continue;
    }
    out.push_back(&gpu);
  }
  std::ranges::sort(out, {}, [](const Gpu* gpu) { return std::tie(gpu->index, gpu->uuid); });
  return out;
}

// Why strategy single cannot offer these GPUs, and what to do; empty: it can. It needs MIG on all
// GPUs of the node or on none, and one MIG profile everywhere, as far as that can be read.
std::string not_uniform(std::vector<const Gpu*> gpus) {
  constexpr const char* kHint =
      "give every GPU of the node the same MIG layout, or set migStrategy to mixed";
  std::erase_if(gpus, [](const Gpu* gpu) { return is_unread(*gpu); });
  const MigInstance* first = nullptr;
  for (const Gpu* gpu : gpus) {
    if (!gpu->mig_enabled()) continue;
    if (!gpu->mig_refused.empty())
      return fmt::format("{}; {}", refused_instances(*gpu), kMigRemedy);
    if (gpu->mig_instances.empty()) {
      return fmt::format("device {} has no MIG devices configured; {}", gpu->index, kHint);
    }
    for (const MigInstance& instance : gpu->mig_instances) {
      if (first == nullptr) first = &instance;
      if (instance.profile == first->profile && instance.attributes == first->attributes) continue;
      return fmt::format("more than one MIG device type present on node ({} and {}); {}",
                         first->profile.name, instance.profile.name, kHint);
    }
  }
  const auto enabled = std::ranges::count_if(gpus, &Gpu::mig_enabled);
  if (enabled == 0 || static_cast<std::size_t>(enabled) == gpus.size()) return {};
  return fmt::format(
      "all devices on the node must be configured with the same migEnabled value ({} of {} GPUs "
      "have MIG enabled); {}",
      enabled, gpus.size(), kHint);
}

}  // namespace

DeviceClasses device_classes(const gpu::Machine& machine, const config::Config& config,
                             const gpu::HealthReport& health) {
  Classifier classifier(config, health);
  const std::vector<const Gpu*> gpus = usable(machine, classifier);
  const MigStrategy strategy = config.flags.mig_strategy;
  if (strategy == MigStrategy::kSingle) {
    if (const auto why = not_uniform(gpus); !why.empty()) {
      classifier.withhold_all(gpus, fmt::format("migStrategy single: {}", why));
      return std::move(classifier.out);
    }
  }
  for (const Gpu* gpu : gpus) {
    if (strategy == MigStrategy::kMixed && gpu->mig_enabled()) {
      classifier.add_instances_by_profile(*gpu);
    } else if (strategy != MigStrategy::kNone && is_unread(*gpu)) {
      classifier.add_unread(*gpu);
    } else if (strategy == MigStrategy::kNone || !gpu->mig_enabled()) {
      classifier.add_whole(*gpu);
    } else {
      classifier.add_instances_as_gpus(*gpu);
    }
  }
  classifier.warn_of_idle_patterns();
  return std::move(classifier.out);
}

}  // namespace tranche::offer
