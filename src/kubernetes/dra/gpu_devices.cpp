#include "dra/gpu_devices.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cluster/formats/slice_names.h"
#include "dra/counters.h"
#include "dra/names.h"
#include "gpu/models.h"
#include "mig/apply.h"
#include "mig/occupancy.h"

namespace tranche::dra {
namespace {

using cluster::DeviceCapacity;
using cluster::SemanticVersion;
using cluster::SliceDevice;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

std::string cuda_version(int version) {
  return semantic_version(std::to_string(version / 1000) + '.' +
                          std::to_string(version % 1000 / 10));
}

// The API server would reject the whole slice for a text that is too long.
void put_text(SliceDevice& device, std::string_view name, std::string value) {
  if (value.empty() || value.size() > cluster::kLongestAttribute) return;
  device.attributes.emplace(name, std::move(value));
}

void put_version(SliceDevice& device, std::string_view name, std::string version) {
  if (version.empty() || version.size() > cluster::kLongestAttribute) return;
  device.attributes.emplace(name, SemanticVersion{std::move(version)});
}

template <class Map, class Key>
std::string text_of(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second;
}

// "Hopper", "Ada Lovelace".
std::string architecture_of(gpu::ComputeCapability capability) {
  std::string name(gpu::family(capability));
  if (name == "undefined") return "";
  bool begins = true;
  for (char& c : name) {
    if (begins && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    begins = c == '-';
    if (begins) c = ' ';
  }
  return name;
}

std::string version_of(gpu::ComputeCapability capability) {
  if (capability.major == 0) return "";
  return semantic_version(std::to_string(capability.major) + '.' +
                          std::to_string(capability.minor));
}

// `all`, divisible in steps.
DeviceCapacity share_of(std::uint64_t all, std::uint64_t step) {
  return {all, cluster::CapacityPolicy{.otherwise = all, .min = step, .max = all, .step = step}};
}

void put_amounts(SliceDevice& device, const gpu::MigAttributes& has) {
  const auto put = [&](const char* name, std::uint64_t value) {
    device.capacity.emplace(name, DeviceCapacity{value, {}});
  };
  put("memory", has.memory.value);
  put("multiprocessors", static_cast<std::uint64_t>(has.multiprocessors));
  put("copyEngines", static_cast<std::uint64_t>(has.copy_engines));
  put("decoders", static_cast<std::uint64_t>(has.decoders));
  put("encoders", static_cast<std::uint64_t>(has.encoders));
  put("jpegEngines", static_cast<std::uint64_t>(has.jpeg_engines));
  put("ofaEngines", static_cast<std::uint64_t>(has.ofa_engines));
}

// "memorySlice3" for each memory slice, so that a request can name one. NVIDIA's driver publishes
// them, too. None where the API server would reject them all.
void put_memory_slices(SliceDevice& device, const gpu::Placement& has) {
  const auto slices = static_cast<std::size_t>(std::max(has.size, 0));
  const auto others = device.attributes.size() + device.capacity.size();
  if (has.start < 0 || others + slices > cluster::kAttributesPerDevice) return;
  for (int slice = has.start; slice < has.end(); ++slice) {
    device.capacity.emplace("memorySlice" + std::to_string(slice), DeviceCapacity{1, {}});
  }
}

}  // namespace

bool GpuDevices::has_whole() const {
  return !gpu_.mig_enabled() || (partitions() && !mig::mode_needs_reset(gpu_));
}

bool GpuDevices::partitions() const {
  return facts_.partitionable.contains(gpu_.uuid) && !gpu_.mig_geometry.empty() &&
         (gpu_.mig_enabled() || !mig::mode_needs_reset(gpu_));
}

SliceDevice GpuDevices::whole() const {
  SliceDevice device{.name = gpu_device_name(gpu_)};
  put_text(device, "type", "gpu");
  put_text(device, "uuid", gpu_.uuid.value);
  put_common(device);
  put_text(device, kIslandAttribute, text_of(facts_.islands, gpu_.uuid));
  put_share(device);
  put_multiprocessors(device);
  put_total(device);
  device.taints = taints({gpu_.uuid.value});
  if (partitions()) device.consumes = {{counter_set_name(gpu_), whole_gpu(gpu_.mig_geometry)}};
  return device;
}

SliceDevice GpuDevices::for_admins() const {
  auto device = whole();
  device.name = admin_device_name(gpu_);
  device.attributes["type"] = std::string("gpu-admin");
  device.shareable = false;
  for (auto& [name, capacity] : device.capacity) capacity.policy.reset();
  device.consumes.clear();
  device.taints.push_back({.key = kAdminTaint, .effect = "NoSchedule"});
  return device;
}

std::vector<SliceDevice> GpuDevices::existing() const {
  std::vector<SliceDevice> devices;
  if (partitions()) return devices;
  for (const auto& instance : gpu_.mig_instances) devices.push_back(existing(instance));
  return devices;
}

std::vector<SliceDevice> GpuDevices::places() const {
  std::vector<SliceDevice> devices;
  if (!partitions()) return devices;
  for (const auto* profile : mig::smallest_first(gpu_.mig_geometry)) {
    for (auto start = profile->starts.rbegin(); start != profile->starts.rend(); ++start) {
      devices.push_back(place(*profile, *start));
    }
  }
  return devices;
}

void GpuDevices::put_common(SliceDevice& device) const {
  put_text(device, "productName", gpu_.name);
  put_text(device, "brand", gpu_.brand);
  put_text(device, "addressingMode", gpu_.addressing_mode);
  put_text(device, "architecture", architecture_of(gpu_.compute_capability));
  put_version(device, "cudaComputeCapability", version_of(gpu_.compute_capability));
  put_version(device, "driverVersion", semantic_version(machine_.driver_version));
  put_version(device, "cudaDriverVersion", cuda_version(machine_.cuda_driver_version));
  put_text(device, kPciBusIdAttribute, gpu::sysfs_name(gpu_.pci));
  put_text(device, kPcieRootAttribute, text_of(facts_.pcie_roots, gpu_.pci));
  if (gpu_.numa_node) device.attributes.emplace("numaNode", std::int64_t{*gpu_.numa_node});
}

// A part of unknown memory cannot be allocated. What is divided is the usable memory. For a GPU
// that is only allocated whole, the capacity is its size, as reported by NVIDIA's driver.
void GpuDevices::put_share(SliceDevice& device) const {
  const std::uint64_t memory = gpu_.usable_memory().value;
  if (!facts_.shares || memory == 0) {
    device.capacity = {{"memory", {gpu_.memory.value, {}}}, {"compute", {100, {}}}};
    return;
  }
  device.capacity = {{"memory", share_of(memory, kMiB)}, {"compute", share_of(100, 1)}};
  device.shareable = true;
}

// Compute is what is limited, so a share that names no multiprocessors takes none of them.
void GpuDevices::put_multiprocessors(SliceDevice& device) const {
  std::uint64_t most = 0;
  for (const auto& profile : gpu_.mig_geometry.profiles) {
    const auto has = profile.attributes.value_or(gpu::MigAttributes()).multiprocessors;
    most = std::max(most, static_cast<std::uint64_t>(std::max(has, 0)));
  }
  if (most == 0) return;
  auto& capacity = device.capacity["multiprocessors"] = {.value = most};
  if (device.shareable) capacity.policy = cluster::CapacityPolicy{.max = most};
}

void GpuDevices::put_total(SliceDevice& device) const {
  const auto total = gpu_.memory.mib();
  if (device.capacity.at("memory").value >= total * kMiB) return;
  device.attributes.emplace(cluster::kTotalMemoryAttribute, static_cast<std::int64_t>(total));
}

std::vector<cluster::DeviceTaint> GpuDevices::taints(
    std::initializer_list<std::string> uuids) const {
  std::vector<cluster::DeviceTaint> all;
  for (const auto& uuid : uuids) {
    const auto found = facts_.taints.find(uuid);
    if (found == facts_.taints.end()) continue;
    std::ranges::copy(found->second, std::back_inserter(all));
  }
  return all;
}

SliceDevice GpuDevices::place(const gpu::GpuInstanceProfile& profile, int start) const {
  SliceDevice device{.name = mig_device_name(gpu_, profile, start)};
  put_text(device, "type", "mig");
  put_text(device, "parentUUID", gpu_.uuid.value);
  put_text(device, "profile", profile.name);
  put_common(device);
  if (profile.attributes) put_amounts(device, *profile.attributes);
  device.consumes = {{counter_set_name(gpu_), of_instance(gpu_.mig_geometry, profile, start)}};
  device.taints = taints({gpu_.uuid.value});
  return device;
}

SliceDevice GpuDevices::existing(const gpu::MigInstance& instance) const {
  SliceDevice device{.name = existing_device_name(gpu_, instance)};
  put_text(device, "type", "mig");
  put_text(device, "uuid", instance.uuid.value);
  put_text(device, "parentUUID", gpu_.uuid.value);
  put_text(device, "profile", instance.profile.name);
  put_common(device);
  put_amounts(device, instance.attributes);
  if (instance.placement) put_memory_slices(device, *instance.placement);
  device.taints = taints({gpu_.uuid.value, instance.uuid.value});
  return device;
}

}  // namespace tranche::dra
