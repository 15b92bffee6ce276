#include "labels/resource_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "gpu/models.h"
#include "labels/label_text.h"
#include "labels/sharing_view.h"

namespace tranche::labels {
namespace {

using config::MigStrategy;
using config::SharingStrategy;
using gpu::Gpu;
using gpu::MigInstance;

constexpr std::string_view kGpuPrefix = "nvidia.com/gpu";

struct MigRef {
  const Gpu* gpu = nullptr;
  const MigInstance* instance = nullptr;
};

// The resource of devices called `text`: that of the first matching pattern, else `otherwise`.
// There are patterns only with tranche.honorIgnoredFields.
config::ResourceName resource_for(const std::vector<config::ResourcePattern>& patterns,
                                  const std::string& text, std::string_view otherwise) {
  for (const auto& pattern : patterns) {
    if (config::matches_pattern(pattern.pattern, text)) return pattern.name;
  }
  return {std::string(otherwise)};
}

// A profile's name as NVIDIA writes it in values and in keys: "1g.5gb+me" -> "1g.5gb.me".
std::string profile_text(std::string profile) {
  std::ranges::replace(profile, '+', '.');
  return profile;
}

std::string product(const std::vector<std::string_view>& parts, const ResourceSharing& sharing) {
  std::string name;
  const auto append = [&name](std::string_view part) {
    if (part.empty()) return;
    if (!name.empty()) name += '-';
    name += part;
  };
  for (const auto part : parts) append(sanitise(part));
  if (!name.empty() && sharing.shared() && !sharing.renamed) append("SHARED");
  return name;
}

void add_base(std::string_view prefix, std::string product_name, std::size_t count, int replicas,
              std::string_view strategy, Labels& labels) {
  labels[fmt::format("{}.product", prefix)] = std::move(product_name);
  labels[fmt::format("{}.count", prefix)] = std::to_string(count);
  labels[fmt::format("{}.replicas", prefix)] = std::to_string(replicas);
  labels[fmt::format("{}.sharing-strategy", prefix)] = strategy;
}

void add_gpu_attributes(const std::vector<const Gpu*>& model, Labels& labels) {
  for (const auto* gpu : model) {
    if (gpu->memory.mib() == 0) continue;
    labels[fmt::format("{}.memory", kGpuPrefix)] = std::to_string(gpu->memory.mib());
    break;
  }
  for (const auto* gpu : model) {
    const auto capability = gpu->compute_capability;
    if (capability.major == 0) continue;
    labels[fmt::format("{}.family", kGpuPrefix)] = gpu::family(capability);
    labels[fmt::format("{}.compute.major", kGpuPrefix)] = std::to_string(capability.major);
    labels[fmt::format("{}.compute.minor", kGpuPrefix)] = std::to_string(capability.minor);
    break;
  }
}

// The GPUs that are advertised whole. With strategy none that is every GPU, whatever its MIG mode.
// Otherwise MIG-enabled GPUs are not among them.
std::vector<DeviceRef> whole_gpus(const std::vector<Gpu>& gpus, const config::Config& config,
                                  const config::ResourceName& resource, const std::string& model) {
  std::vector<DeviceRef> refs;
  for (const auto& gpu : gpus) {
    if (config.flags.mig_strategy != MigStrategy::kNone && gpu.mig_enabled()) continue;
    if (resource_for(config.gpus, gpu.name, kGpuPrefix) != resource) continue;
    refs.push_back({.index = std::to_string(gpu.index),
                    .uuid = gpu.uuid.value,
                    .legacy = {},
                    .labelled = gpu.name == model});
  }
  return refs;
}

// The model that nvidia.com/gpu.* describes: among the GPUs that are not in MIG mode, if there is
// one. By NVIDIA's rule its labels for whole GPUs override those for GPUs in MIG mode.
const std::string& labelled_model(const std::vector<Gpu>& gpus) {
  const auto whole = std::ranges::find_if_not(gpus, &Gpu::mig_enabled);
  return whole == gpus.end() ? gpus.front().name : whole->name;
}

void warn_of_several_models(const std::vector<Gpu>& gpus, LabelSet& set) {
  std::map<std::string, int> counts;
  for (const auto& gpu : gpus) ++counts[gpu.name];
  if (counts.size() < 2) return;
  std::string list;
  for (const auto& [name, count] : counts) {
    list += fmt::format("{}{} x {}", list.empty() ? "" : ", ", count, name);
  }
  set.warnings.push_back(fmt::format(
      "several GPU models on this node ({}): the labels describe {}; Pods that select by "
      "nvidia.com/gpu.product cannot find the others",
      list, labelled_model(gpus)));
}

void add_full_gpu_labels(const std::vector<Gpu>& gpus, const config::Config& config,
                         LabelSet& set) {
  warn_of_several_models(gpus, set);
  const auto& name = labelled_model(gpus);
  std::vector<const Gpu*> model;
  for (const auto& gpu : gpus) {
    if (gpu.name == name) model.push_back(&gpu);
  }
  // NVIDIA's rule: if all GPUs of this model have MIG enabled, none is whole and sharing does not
  // apply.
  const bool all_mig =
      std::ranges::all_of(model, [](const Gpu* gpu) { return gpu->mig_enabled(); });
  ResourceSharing sharing;
  if (!all_mig) {
    const auto resource = resource_for(config.gpus, name, kGpuPrefix);
    sharing = sharing_of(config.sharing, resource, whole_gpus(gpus, config, resource, name));
  }
  add_base(kGpuPrefix, product({name}, sharing), model.size(), all_mig ? 0 : sharing.replicas,
           to_string(sharing.strategy), set.labels);
  add_gpu_attributes(model, set.labels);
}

DeviceRef ref_of(const MigRef& mig) {
  return {.index = fmt::format("{}:{}", mig.gpu->index, mig.instance->slot),
          .uuid = mig.instance->uuid.value,
          .legacy = fmt::format("MIG-{}/{}/{}", mig.gpu->uuid.value, mig.instance->gpu_instance_id,
                                mig.instance->compute_instance_id)};
}

void add_mig_attributes(std::string_view prefix, const MigInstance& instance, Labels& labels) {
  const auto& attributes = instance.attributes;
  const auto add = [&](std::string_view key, std::uint64_t value) {
    labels[fmt::format("{}.{}", prefix, key)] = std::to_string(value);
  };
  const auto add_int = [&](std::string_view key, int value) {
    labels[fmt::format("{}.{}", prefix, key)] = std::to_string(value);
  };
  add("memory", attributes.memory.mib());
  add_int("multiprocessors", attributes.multiprocessors);
  add_int("slices.gi", instance.profile.gpu_slices);
  add_int("slices.ci", instance.profile.compute_slices);
  add_int("engines.copy", attributes.copy_engines);
  add_int("engines.decoder", attributes.decoders);
  add_int("engines.encoder", attributes.encoders);
  add_int("engines.jpeg", attributes.jpeg_engines);
  add_int("engines.ofa", attributes.ofa_engines);
}

// Adds the labels of one MIG profile. `migs`: all instances of that profile, not empty.
void add_mig_labels(std::string_view prefix, const config::ResourceName& resource,
                    const std::vector<MigRef>& migs, const config::Config& config, Labels& labels) {
  std::vector<DeviceRef> refs;
  std::ranges::transform(migs, std::back_inserter(refs), ref_of);
  const auto sharing = sharing_of(config.sharing, resource, refs);
  const auto& first = migs.front();
  const auto profile = profile_text(first.instance->profile.name);
  add_base(prefix, product({first.gpu->name, "MIG", profile}, sharing), migs.size(),
           sharing.replicas, to_string(sharing.strategy), labels);
  add_mig_attributes(prefix, *first.instance, labels);
}

void add_invalid_single(const std::string& model, std::string_view reason, LabelSet& set) {
  add_base(kGpuPrefix, product({model, "MIG", "INVALID"}, {}), 0, 0, "", set.labels);
  set.labels[fmt::format("{}.memory", kGpuPrefix)] = "0";
  set.warnings.push_back(fmt::format(
      "Invalid configuration detected for mig-strategy=single: {}; give every GPU the same MIG "
      "layout of one profile, or use migStrategy mixed",
      reason));
}

void add_single(const std::vector<Gpu>& gpus, const config::Config& config, LabelSet& set) {
  std::vector<MigRef> migs;
  std::set<std::string> profiles;
  std::size_t enabled = 0;
  std::string model;  // of the first GPU in MIG mode
  bool empty = false;
  for (const auto& gpu : gpus) {
    if (!gpu.mig_enabled()) continue;
    if (++enabled == 1) model = gpu.name;
    empty = empty || gpu.mig_instances.empty();
    for (const auto& instance : gpu.mig_instances) {
      migs.push_back({&gpu, &instance});
      profiles.insert(instance.profile.name);
    }
  }
  if (enabled == 0) return;
  if (empty) {
    add_invalid_single(model, "a GPU with MIG enabled has no MIG instances", set);
  } else if (enabled != gpus.size()) {
    add_invalid_single(model, "GPUs with MIG enabled and disabled on one node", set);
  } else if (profiles.size() != 1) {
    add_invalid_single(model, "more than one MIG device type present on node", set);
  } else {
    add_mig_labels(kGpuPrefix, {std::string(kGpuPrefix)}, migs, config, set.labels);
  }
}

std::string mig_resource(const std::string& profile) {
  return fmt::format("nvidia.com/mig-{}", profile_text(profile));
}

void add_mixed(const std::vector<Gpu>& gpus, const config::Config& config, LabelSet& set) {
  std::map<std::string, std::vector<MigRef>> by_profile;
  for (const auto& gpu : gpus) {
    if (!gpu.mig_enabled()) continue;
    for (const auto& instance : gpu.mig_instances) {
      by_profile[instance.profile.name].push_back({&gpu, &instance});
    }
  }
  for (const auto& [profile, migs] : by_profile) {
    const auto prefix = mig_resource(profile);
    add_mig_labels(prefix, resource_for(config.migs, profile, prefix), migs, config, set.labels);
  }
}

}  // namespace

void add_resource_labels(const std::vector<Gpu>& gpus, const config::Config& config,
                         LabelSet& set) {
  add_full_gpu_labels(gpus, config, set);
  const auto strategy = config.flags.mig_strategy;
  if (strategy == MigStrategy::kNone) return;
  set.labels["nvidia.com/mig.strategy"] = to_string(strategy);
  if (strategy == MigStrategy::kSingle) {
    add_single(gpus, config, set);
  } else {
    add_mixed(gpus, config, set);
  }
}

}  // namespace tranche::labels
