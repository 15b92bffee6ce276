#include "labels/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "labels/label_text.h"
#include "labels/resource_labels.h"

namespace tranche::labels {
namespace {

using gpu::Gpu;
using gpu::Machine;

constexpr std::uint32_t kClass3dController = 0x030200;
constexpr std::uint32_t kClassVga = 0x030000;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Result<void> add_driver_version(const std::string& version, Labels& labels) {
  auto parts = split(version, '.');
  if (parts.size() < 2 || parts.size() > 3) {
    return fail(Code::kFailedPrecondition,
                fmt::format("driver version \"{}\" is not two or three numbers", version),
                "the labels need a driver that reports its version; see nvidia-smi");
  }
  parts.resize(3);
  labels["nvidia.com/cuda.driver-version.full"] = version;
  labels["nvidia.com/cuda.driver-version.major"] = parts[0];
  labels["nvidia.com/cuda.driver-version.minor"] = parts[1];
  labels["nvidia.com/cuda.driver-version.revision"] = parts[2];
  labels["nvidia.com/cuda.driver.major"] = parts[0];
  labels["nvidia.com/cuda.driver.minor"] = parts[1];
  labels["nvidia.com/cuda.driver.rev"] = parts[2];
  return {};
}

void add_runtime_version(int version, LabelSet& set) {
  if (version <= 0) {
    set.warnings.emplace_back(
        "the driver does not tell its CUDA version: no nvidia.com/cuda.runtime* labels; update the "
        "driver");
    return;
  }
  const auto major = std::to_string(version / 1000);
  const auto minor = std::to_string(version % 1000 / 10);
  set.labels["nvidia.com/cuda.runtime-version.full"] = fmt::format("{}.{}", major, minor);
  set.labels["nvidia.com/cuda.runtime-version.major"] = major;
  set.labels["nvidia.com/cuda.runtime-version.minor"] = minor;
  set.labels["nvidia.com/cuda.runtime.major"] = major;
  set.labels["nvidia.com/cuda.runtime.minor"] = minor;
}

// By the PCI classes of the labelled GPUs. Other functions of the node (an excluded display card, a
// GPU that belongs to a virtual machine) do not count.
std::string mode_of(const std::vector<Gpu>& gpus, const gpu::Host& host) {
  const auto all = [&](std::uint32_t wanted) {
    return std::ranges::all_of(gpus, [&](const Gpu& gpu) {
      const auto found = host.display_classes.find(gpu.pci);
      return found != host.display_classes.end() && found->second == wanted;
    });
  };
  if (all(kClass3dController)) return "compute";
  if (all(kClassVga)) return "graphics";
  return "unknown";
}

// If it is unknown, NVIDIA's program writes no label either.
void add_vgpu(const gpu::Host& host, Labels& labels) {
  if (!host.pci_known) return;
  labels["nvidia.com/vgpu.present"] = host.vgpu ? "true" : "false";
  if (!host.vgpu) return;
  labels["nvidia.com/vgpu.host-driver-version"] = host.vgpu->host_driver_version;
  labels["nvidia.com/vgpu.host-driver-branch"] = host.vgpu->host_driver_branch;
}

void add_clique(const std::vector<Gpu>& gpus, LabelSet& set) {
  std::set<std::string> cliques;
  for (const auto& gpu : gpus) {
    if (gpu.fabric) {
      cliques.insert(fmt::format("{}.{}", gpu.fabric->cluster_uuid, gpu.fabric->clique_id));
    }
  }
  if (cliques.size() == 1) set.labels["nvidia.com/gpu.clique"] = *cliques.begin();
  if (cliques.size() > 1) {
    set.warnings.push_back(fmt::format(
        "the GPUs of this node are in {} NVLink cliques ({}): no nvidia.com/gpu.clique label; look "
        "at the fabric manager",
        cliques.size(), fmt::join(cliques, ", ")));
  }
}

Result<void> add_mps(const std::vector<Gpu>& gpus, bool wished, Labels& labels) {
  if (wished && std::ranges::any_of(gpus, [](const Gpu& gpu) { return gpu.mig_enabled(); })) {
    return fail(Code::kFailedPrecondition, "MPS sharing is not supported for mig devices",
                "use sharing.timeSlicing on this node, or disable MIG on its GPUs");
  }
  labels["nvidia.com/mps.capable"] = wished ? "true" : "false";
  return {};
}

// The GPUs that labels describe. Excludes display cards of DGX stations, and GPUs that never
// reported a name, or their MIG layout if that is needed.
std::vector<Gpu> counted_gpus(const Machine& machine, config::MigStrategy strategy, LabelSet& set) {
  std::vector<Gpu> gpus;
  for (const auto& gpu : machine.gpus) {
    if (gpu.name == "DGX Display" || gpu.name == "NVIDIA DGX Display") continue;
    if (gpu.name.empty()) {
      set.warnings.push_back(
          fmt::format("GPU {} does not tell its name{}{}: the labels leave it out", gpu.index,
                      gpu.presence_reason.empty() ? "" : ": ", gpu.presence_reason));
      continue;
    }
    if (!gpu.mig_unread.empty() && strategy != config::MigStrategy::kNone) {
      set.warnings.push_back(
          fmt::format("GPU {} does not tell its MIG layout: {}: the labels leave it out", gpu.index,
                      gpu.mig_unread));
      continue;
    }
    gpus.push_back(gpu);
  }
  std::ranges::stable_sort(gpus, {}, &Gpu::index);
  return gpus;
}

// Kubernetes refuses all labels of the node if it refuses one value.
void leave_out_invalid(LabelSet& set) {
  std::erase_if(set.labels, [&](const auto& label) {
    if (is_label_value(label.second)) return false;
    set.warnings.push_back(fmt::format(
        "label {} left out: \"{}\" is no label value (at most 63 of A-Z a-z 0-9 - _ . and a letter "
        "or digit at both ends)",
        label.first, label.second));
    return true;
  });
}

Result<void> add_gpu_labels(const Machine& machine, const std::vector<Gpu>& gpus,
                            const config::Config& config, bool mps_wished, LabelSet& set) {
  auto& labels = set.labels;
  TRY(add_driver_version(machine.driver_version, labels));
  add_runtime_version(machine.cuda_driver_version, set);
  labels["nvidia.com/gpu.machine"] =
      machine.host.product_name ? sanitise(*machine.host.product_name) : "unknown";
  labels["nvidia.com/gpu.mode"] = mode_of(gpus, machine.host);
  const bool mig_capable = std::ranges::any_of(
      gpus, [](const Gpu& gpu) { return gpu.mig_mode != gpu::MigMode::kUnsupported; });
  labels["nvidia.com/mig.capable"] = mig_capable ? "true" : "false";
  TRY(add_mps(gpus, mps_wished, labels));
  add_clique(gpus, set);
  add_resource_labels(gpus, config, set);
  return {};
}

}  // namespace

Result<LabelSet> make_labels(const Machine& machine, const config::Config& config,
                             const LabelOptions& options) {
  LabelSet set;
  if (options.timestamp) {
    set.labels["nvidia.com/gfd.timestamp"] = std::to_string(*options.timestamp);
  }
  add_vgpu(machine.host, set.labels);
  const auto gpus = counted_gpus(machine, config.flags.mig_strategy, set);
  const bool mps =
      options.mps_wished.value_or(config.sharing.strategy() == config::SharingStrategy::kMps);
  if (!gpus.empty()) TRY(add_gpu_labels(machine, gpus, config, mps, set));
  leave_out_invalid(set);
  return set;
}

}  // namespace tranche::labels
