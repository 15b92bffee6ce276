#include "metrics/device_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/ids.h"
#include "metrics/dcgm_table.h"

namespace tranche::metrics {
namespace {

// Which generations have a name.
enum Generation : std::size_t { kOld, kNew, kShared };

struct Device {
  std::array<std::string, 3> labels;  // by Generation
  DeviceSources sources;
};

LabelText gpu_labels(const gpu::Gpu& gpu) {
  LabelText labels;
  labels.add("gpu", fmt::to_string(gpu.index)).add("UUID", gpu.uuid.value);
  labels.add("pci_bus_id", gpu::nvml_name(gpu.pci));
  if (gpu.minor >= 0) labels.add("device", fmt::format("nvidia{}", gpu.minor));
  labels.add("modelName", gpu.name);
  return labels;
}

// The GPU instance's profile, also where the compute instance is a part of it: "1c.2g.10gb" ->
// "2g.10gb".
std::string_view gpu_instance_profile(std::string_view name) {
  const auto dot = name.find('.');
  const bool partial = dot != std::string_view::npos && name.substr(0, dot).ends_with('c');
  return partial ? name.substr(dot + 1) : name;
}

std::array<std::string, 3> with_node(const LabelText& device, const NodeFigures& figures,
                                     DcgmNames names) {
  std::array<std::string, 3> all;
  for (const Generation generation : {kOld, kNew, kShared}) {
    const bool old = generation == kOld || (generation == kShared && names != DcgmNames::k49);
    const bool recent = generation == kNew || (generation == kShared && names != DcgmNames::k48);
    LabelText labels = device;
    if (old) labels.add("Hostname", figures.node);
    labels.add("hostname", figures.node);
    if (old) labels.add("DCGM_FI_DRIVER_VERSION", figures.driver_version);
    if (recent) labels.add("DCGM_FI_SYSTEM_DRIVER_VERSION", figures.driver_version);
    all[generation] = labels.text();
  }
  return all;
}

template <class DeviceReading>
const auto* find_instance(const DeviceReading& reading, const std::string& uuid) {
  const auto found =
      std::ranges::find(reading.instances, uuid, [](const auto& i) { return i.uuid; });
  return found == reading.instances.end() ? nullptr : &found->figures;
}

// Those of a GPU in the order of their ids.
class Devices {
 public:
  Devices(const NodeFigures& figures, DcgmNames names) : figures_(figures), names_(names) {
    std::vector<const GpuFigures*> gpus;
    for (const auto& one : figures.gpus) gpus.push_back(&one);
    std::ranges::stable_sort(
        gpus, {}, [](const GpuFigures* one) { return std::tie(one->gpu.index, one->gpu.uuid); });
    for (const auto* one : gpus) add_gpu(*one);
  }

  const std::vector<Device>& all() const { return all_; }

 private:
  void add(const LabelText& labels, const DeviceSources& sources) {
    Device device{with_node(labels, figures_, names_), sources};
    if (seen_.insert(device.labels[kOld]).second) all_.push_back(std::move(device));
  }

  void add_gpu(const GpuFigures& one) {
    DeviceSources sources{.xid = one.last_xid};
    const bool whole = one.gpu.mig_instances.empty();
    if (one.fast) sources.fast = &one.fast->figures;
    if (one.slow) sources.slow = &one.slow->figures;
    if (one.slow) sources.links = &one.slow->figures.activity;
    if (whole && one.fast && one.fast->figures.memory) sources.memory = &*one.fast->figures.memory;
    if (whole) sources.engines = sources.links;
    const LabelText labels = gpu_labels(one.gpu);
    add(labels, sources);
    add_instances(one, labels);
  }

  void add_instances(const GpuFigures& one, const LabelText& gpu) {
    std::vector<const gpu::MigInstance*> instances;
    for (const auto& instance : one.gpu.mig_instances) instances.push_back(&instance);
    std::ranges::stable_sort(instances, {}, &gpu::MigInstance::gpu_instance_id);
    for (const auto* instance : instances) {
      const DeviceSources sources = sources_of(one, instance->uuid.value);
      if (sources.memory == nullptr && sources.engines == nullptr) continue;
      LabelText labels = gpu;
      labels.add("GPU_I_PROFILE", gpu_instance_profile(instance->profile.name));
      labels.add("GPU_I_ID", fmt::to_string(instance->gpu_instance_id));
      add(labels, sources);
    }
  }

  static DeviceSources sources_of(const GpuFigures& one, const std::string& instance) {
    DeviceSources sources;
    if (one.fast) {
      const auto* memory = find_instance(*one.fast, instance);
      if (memory != nullptr && *memory) sources.memory = &**memory;
    }
    if (one.slow) sources.engines = find_instance(*one.slow, instance);
    return sources;
  }

  const NodeFigures& figures_;
  DcgmNames names_;
  std::vector<Device> all_;
  std::set<std::string> seen_;
};

void write_family(Exposition& out, const std::vector<Device>& devices, const DcgmFigure& figure,
                  const DcgmName& name, Generation generation) {
  out.family({.name = name.name, .type = figure.type, .help = name.help});
  for (const auto& device : devices) {
    const auto reading = figure.read(device.sources);
    const auto value = reading ? scaled(*reading, name.scale) : std::nullopt;
    if (value) out.line(device.labels[generation], *value);
  }
}

}  // namespace

void write_device_series(Exposition& out, const NodeFigures& figures, DcgmNames names) {
  const Devices devices(figures, names);
  for (const auto& figure : dcgm_table()) {
    if (figure.v48.name == figure.v49.name) {
      write_family(out, devices.all(), figure, figure.v48, kShared);
      continue;
    }
    if (names != DcgmNames::k49) write_family(out, devices.all(), figure, figure.v48, kOld);
    if (names != DcgmNames::k48) write_family(out, devices.all(), figure, figure.v49, kNew);
  }
}

}  // namespace tranche::metrics
