#include "labels/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace tranche::labels {
namespace {

constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
constexpr std::string_view kProfile = "nvidia.com/mig-<profile>";
constexpr std::string_view kResource = "tranche.dev/<resource>";
constexpr std::string_view kOurPrefix = "tranche.dev/";
constexpr std::string_view kLimited = "where the agent offers the resource with limits";
constexpr std::string_view kSingle = "with migStrategy single and a valid layout";
constexpr std::string_view kMixed = "with migStrategy mixed, once per profile";
constexpr std::string_view kVgpu = "in a virtual machine with a vGPU";

constexpr auto kTable = std::to_array<LabelDoc>({
    {"nvidia.com/gpu.product",
     "model, sanitised; `-MIG-<profile>` with migStrategy single, then `-SHARED` when shared and "
     "not "
     "renamed; `-MIG-INVALID` when single does not fit the layout",
     ""},
    {"nvidia.com/gpu.count",
     "GPUs of that model, those with MIG enabled included; MIG instances with migStrategy single, "
     "0 "
     "when its layout is invalid",
     ""},
    {"nvidia.com/gpu.replicas",
     "tranches per GPU: 1 when not shared; 0 when every GPU of the model has MIG enabled (none, "
     "mixed) or the layout is invalid (single)",
     ""},
    {"nvidia.com/gpu.sharing-strategy",
     "`none`, `time-slicing` or `mps`; empty when migStrategy single is invalid", ""},
    {"nvidia.com/gpu.memory",
     "MiB of one GPU (of one instance with migStrategy single), not divided by replicas",
     "where the driver tells it"},
    {"nvidia.com/gpu.family",
     "architecture: `volta`, `turing`, `ampere`, `ada-lovelace`, `hopper`, `blackwell`, ...",
     "where the compute capability is known"},
    {"nvidia.com/gpu.compute.major", "compute capability, 8 of 8.9",
     "where the compute capability is known"},
    {"nvidia.com/gpu.compute.minor", "compute capability, 9 of 8.9",
     "where the compute capability is known"},
    {"nvidia.com/gpu.machine", "product name of the machine, sanitised; `unknown`", ""},
    {"nvidia.com/gpu.mode",
     "`compute` (all GPUs are 3D controllers), `graphics` (all are VGA), else `unknown`", ""},
    {"nvidia.com/gpu.clique", "NVLink domain and clique, `<cluster uuid>.<clique id>`",
     "with GPUs on a multi-node NVLink fabric, all in one clique"},
    {"nvidia.com/gpu.multiprocessors", "multiprocessors of one instance", kSingle},
    {"nvidia.com/gpu.slices.gi", "slices of the GPU instance", kSingle},
    {"nvidia.com/gpu.slices.ci", "slices of the compute instance", kSingle},
    {"nvidia.com/gpu.engines.copy", "copy engines of one instance", kSingle},
    {"nvidia.com/gpu.engines.decoder", "video decoders of one instance", kSingle},
    {"nvidia.com/gpu.engines.encoder", "video encoders of one instance", kSingle},
    {"nvidia.com/gpu.engines.jpeg", "JPEG decoders of one instance", kSingle},
    {"nvidia.com/gpu.engines.ofa", "optical-flow accelerators of one instance", kSingle},
    {"nvidia.com/mig.capable", "`true` when the driver has a MIG mode for any GPU", ""},
    {"nvidia.com/mig.strategy", "`single` or `mixed`", "with migStrategy single or mixed"},
    {"nvidia.com/mig-<profile>.product", "`<model>-MIG-<profile>`, `-SHARED` as for GPUs", kMixed},
    {"nvidia.com/mig-<profile>.count", "instances of the profile", kMixed},
    {"nvidia.com/mig-<profile>.replicas", "tranches per instance", kMixed},
    {"nvidia.com/mig-<profile>.sharing-strategy", "`none` or `time-slicing`", kMixed},
    {"nvidia.com/mig-<profile>.memory", "MiB of one instance", kMixed},
    {"nvidia.com/mig-<profile>.multiprocessors", "multiprocessors of one instance", kMixed},
    {"nvidia.com/mig-<profile>.slices.gi", "slices of the GPU instance", kMixed},
    {"nvidia.com/mig-<profile>.slices.ci", "slices of the compute instance", kMixed},
    {"nvidia.com/mig-<profile>.engines.copy", "copy engines of one instance", kMixed},
    {"nvidia.com/mig-<profile>.engines.decoder", "video decoders of one instance", kMixed},
    {"nvidia.com/mig-<profile>.engines.encoder", "video encoders of one instance", kMixed},
    {"nvidia.com/mig-<profile>.engines.jpeg", "JPEG decoders of one instance", kMixed},
    {"nvidia.com/mig-<profile>.engines.ofa", "optical-flow accelerators of one instance", kMixed},
    {"nvidia.com/mps.capable", "`true` when the configuration shares by MPS", ""},
    {"nvidia.com/cuda.driver-version.full", "driver version, 570.158.01", ""},
    {"nvidia.com/cuda.driver-version.major", "its first number", ""},
    {"nvidia.com/cuda.driver-version.minor", "its second number", ""},
    {"nvidia.com/cuda.driver-version.revision", "its third number, empty when there is none", ""},
    {"nvidia.com/cuda.runtime-version.full", "newest CUDA version the driver serves, 12.8",
     "where the driver tells it"},
    {"nvidia.com/cuda.runtime-version.major", "its first number", "where the driver tells it"},
    {"nvidia.com/cuda.runtime-version.minor", "its second number", "where the driver tells it"},
    {"nvidia.com/cuda.driver.major", "deprecated: cuda.driver-version.major", ""},
    {"nvidia.com/cuda.driver.minor", "deprecated: cuda.driver-version.minor", ""},
    {"nvidia.com/cuda.driver.rev", "deprecated: cuda.driver-version.revision", ""},
    {"nvidia.com/cuda.runtime.major", "deprecated: cuda.runtime-version.major",
     "where the driver tells it"},
    {"nvidia.com/cuda.runtime.minor", "deprecated: cuda.runtime-version.minor",
     "where the driver tells it"},
    {"nvidia.com/vgpu.present", "`true` when an NVIDIA device is a vGPU",
     "always, GPU or not, where the PCI bus can be read"},
    {"nvidia.com/vgpu.host-driver-version", "driver version of the vGPU's host", kVgpu},
    {"nvidia.com/vgpu.host-driver-branch", "driver branch of the vGPU's host", kVgpu},
    {"nvidia.com/gfd.timestamp", "Unix time at which the labelling configuration took effect",
     "always, unless noTimestamp"},
    {"tranche.dev/<resource>.limits", "`account`, `strict` or `elastic`", kLimited},
    {"tranche.dev/<resource>.limits-by",
     "what keeps memory: `mig` (each tranche is a MIG instance), `kernel` (the driver, by control "
     "group), `mps` (MPS each process, the library the container) or `limiter` (the library in the "
     "container); of devices that differ the weakest",
     kLimited},
});

constexpr std::string_view kHeader = R"(# Node labels

<!-- Made from src/kubernetes/labels/reference.cpp. -->

Keys and values are those of NVIDIA's GPU feature discovery; those that begin with `tranche.dev/` are ours.
[Labels](../labels.md) tells how they come to the node and how sharing changes them. `<profile>` is a MIG profile with
`.` for `+`: `1g.5gb`, `1g.5gb.me`; `<resource>` is a resource's name without `nvidia.com/`: `gpu`, `gpu.shared`.
)";

std::string_view when_of(const LabelDoc& row) {
  return row.when.empty() ? std::string_view("with a GPU") : row.when;
}

// Those that are present when this holds.
std::string present(std::string_view when) {
  auto page = fmt::format("\nPresent {}:\n\n", when);
  for (const auto& row : kTable) {
    if (when_of(row) == when) page += fmt::format("- `{}`: {}\n", row.key, row.value);
  }
  return page;
}

bool is_usual(const LabelDoc& row) {
  return std::ranges::count(kTable, when_of(row), when_of) >= 2;
}

std::string rarely_present() {
  std::string page = "\nOthers, and in brackets when they are present:\n\n";
  for (const auto& row : kTable) {
    if (is_usual(row)) continue;
    page += fmt::format("- `{}`: {} ({})\n", row.key, row.value, row.when);
  }
  return page;
}

}  // namespace

std::span<const LabelDoc> label_table() { return kTable; }

const LabelDoc* find_label(std::string_view key) {
  // Whether `key` is "<prefix><anything><suffix>", for a row whose key is `pattern` and then the
  // suffix.
  const auto fits = [key](const LabelDoc& row, std::string_view pattern, std::string_view prefix) {
    if (!row.key.starts_with(pattern) || !key.starts_with(prefix)) return false;
    const auto suffix = row.key.substr(pattern.size());
    return key.size() > prefix.size() + suffix.size() && key.ends_with(suffix);
  };
  const auto describes = [&](const LabelDoc& row) {
    return row.key == key || fits(row, kProfile, kMigPrefix) || fits(row, kResource, kOurPrefix);
  };
  const auto* found = std::ranges::find_if(kTable, describes);
  return found == kTable.end() ? nullptr : found;
}

std::string render_reference() {
  std::string page(kHeader);
  std::vector<std::string_view> done;
  for (const auto& row : kTable) {
    if (!is_usual(row) || std::ranges::find(done, when_of(row)) != done.end()) continue;
    done.push_back(when_of(row));
    page += present(when_of(row));
  }
  return page + rarely_present();
}

}  // namespace tranche::labels
