#include "nvml/mig.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/mig_name.h"
#include "nvml/mig_geometry.h"

namespace tranche::nvml {
namespace {

class MigReading {
 public:
  MigReading(Calls& call, Device device, const std::vector<gpu::MigInstance>& known,
             const gpu::MigMinors& minors, gpu::Gpu& gpu, std::vector<std::string>& warnings)
      : call_(call),
        api_(call.api()),
        device_(device),
        known_(known),
        minors_(minors),
        gpu_(gpu),
        warnings_(warnings) {}

  std::optional<std::string> read() {
    unsigned slots = 0;
    const Return result = call_(api_.nvmlDeviceGetMaxMigDeviceCount, device_, &slots);
    if (!check(result, api_.nvmlDeviceGetMaxMigDeviceCount.name, "its MIG devices are unknown")) {
      gpu_.mig_instances = known_;
    }
    for (unsigned slot = 0; slot < slots && !gone_; ++slot) {
      if (!read_slot(slot)) keep_slot(static_cast<int>(slot));
    }
    if (gpu_.mig_instances.empty()) gpu_.mig_unread = failure_;
    return gone_;
  }

 private:
  void keep_slot(int slot) {
    const auto old = std::ranges::find(known_, slot, &gpu::MigInstance::slot);
    if (old != known_.end()) gpu_.mig_instances.push_back(*old);
  }

  // False: the slot could not be read.
  bool read_slot(unsigned slot) {
    Device mig = nullptr;
    const Return result = call_(api_.nvmlDeviceGetMigDeviceHandleByIndex, device_, slot, &mig);
    if (result == kNotFound || result == kInvalidArgument) return true;  // an empty slot
    const std::string consequence =
        fmt::format("MIG device {}:{} cannot be described", gpu_.index, slot);
    const char* effect = consequence.c_str();
    if (!check(result, api_.nvmlDeviceGetMigDeviceHandleByIndex.name, effect)) return false;
    char uuid[kStringSize] = {};
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    DeviceAttributes attributes = {};
    if (!check(call_(api_.nvmlDeviceGetUUID, mig, uuid, kStringSize), api_.nvmlDeviceGetUUID.name,
               effect) ||
        !check(call_(api_.nvmlDeviceGetGpuInstanceId, mig, &gpu_instance),
               api_.nvmlDeviceGetGpuInstanceId.name, effect) ||
        !check(call_(api_.nvmlDeviceGetComputeInstanceId, mig, &compute_instance),
               api_.nvmlDeviceGetComputeInstanceId.name, effect) ||
        !check(call_(api_.nvmlDeviceGetAttributes_v2, mig, &attributes),
               api_.nvmlDeviceGetAttributes_v2.name, effect)) {
      return false;
    }
    gpu::MigInstance instance = {
        .uuid = {text(uuid)},
        .slot = static_cast<int>(slot),
        .gpu_instance_id = static_cast<int>(gpu_instance),
        .compute_instance_id = static_cast<int>(compute_instance),
        .attributes = to_attributes(attributes),
        .gpu_instance_cap = minors_.gpu_instance(gpu_.minor, static_cast<int>(gpu_instance)),
        .compute_instance_cap = minors_.compute_instance(gpu_.minor, static_cast<int>(gpu_instance),
                                                         static_cast<int>(compute_instance))};
    describe(instance, mig, attributes);
    gpu_.mig_instances.push_back(std::move(instance));
    return true;
  }

  static gpu::MigAttributes to_attributes(const DeviceAttributes& attributes) {
    return {.memory = Bytes::from_mib(attributes.memory_mib),
            .multiprocessors = static_cast<int>(attributes.multiprocessors),
            .copy_engines = static_cast<int>(attributes.copy_engines),
            .decoders = static_cast<int>(attributes.decoders),
            .encoders = static_cast<int>(attributes.encoders),
            .jpeg_engines = static_cast<int>(attributes.jpeg_engines),
            .ofa_engines = static_cast<int>(attributes.ofa_engines)};
  }

  // Adds the profile and the placement.
  void describe(gpu::MigInstance& instance, Device mig, const DeviceAttributes& attributes) {
    const int gpu_slices = static_cast<int>(attributes.gpu_instance_slices);
    const int compute_slices = static_cast<int>(attributes.compute_instance_slices);
    const auto* old = unchanged(instance, gpu_slices, compute_slices);
    const auto owner = gpu_instance(instance.gpu_instance_id);
    if (owner && check_place(api_.nvmlGpuInstanceGetInfo.name, owner->placement)) {
      instance.placement = gpu::Placement{.start = static_cast<int>(owner->placement.start),
                                          .size = static_cast<int>(owner->placement.size)};
    } else if (old != nullptr) {
      instance.placement = old->placement;
    }
    if (old != nullptr) {
      instance.profile = old->profile;
      return;
    }
    instance.profile = {.name = name_of(instance, mig, owner, gpu_slices, compute_slices),
                        .gpu_slices = gpu_slices,
                        .compute_slices = compute_slices};
  }

  // The UUID alone does not identify an instance: another one with the same ids may get it later.
  const gpu::MigInstance* unchanged(const gpu::MigInstance& instance, int gpu_slices,
                                    int compute_slices) const {
    const auto old = std::ranges::find_if(known_, [&](const gpu::MigInstance& candidate) {
      return candidate.uuid == instance.uuid &&
             candidate.gpu_instance_id == instance.gpu_instance_id &&
             candidate.compute_instance_id == instance.compute_instance_id &&
             candidate.attributes == instance.attributes &&
             candidate.profile.gpu_slices == gpu_slices &&
             candidate.profile.compute_slices == compute_slices;
    });
    return old == known_.end() ? nullptr : &*old;
  }

  std::string name_of(const gpu::MigInstance& instance, Device mig,
                      const std::optional<GpuInstanceInfo>& owner, int gpu_slices,
                      int compute_slices) {
    const auto* profile =
        owner ? gpu_.mig_geometry.find(static_cast<int>(owner->profile_id)) : nullptr;
    if (profile != nullptr)
      return gpu::compute_instance_name(profile->name, gpu_slices, compute_slices);
    // Without privilege the GPU instance cannot be read. The name of the MIG device has the profile
    // too.
    char name[kStringSize] = {};
    if (call_(api_.nvmlDeviceGetName, mig, name, kStringSize) == kSuccess) {
      const std::string printed = text(name);
      if (const auto found = gpu::profile_in(printed); !found.empty()) return std::string(found);
    }
    warnings_.push_back(
        fmt::format("GPU {} ({}): the driver does not name the profile of {}; the name is computed "
                    "from its size",
                    gpu_.index, gpu_.uuid.value, instance.uuid.value));
    const auto gb = gpu::mig_memory_gb(instance.attributes.memory, gpu_.memory);
    return gpu::compute_instance_name(gpu::mig_profile_name(gpu_slices, gb, gpu::MigKind::kPlain),
                                      gpu_slices, compute_slices);
  }

  // nullopt: the driver does not report it.
  std::optional<GpuInstanceInfo> gpu_instance(int id) {
    GpuInstance handle = nullptr;
    GpuInstanceInfo info = {};
    if (call_(api_.nvmlDeviceGetGpuInstanceById, device_, static_cast<unsigned>(id), &handle) !=
            kSuccess ||
        call_(api_.nvmlGpuInstanceGetInfo, handle, &info) != kSuccess) {
      return std::nullopt;
    }
    return info;
  }

  // Whether the call succeeded. If not: notes that the GPU is gone, or warns of `effect`.
  bool check(Return result, const char* function, const char* effect) {
    if (result == kSuccess) return true;
    if (result == kNoPermission) gpu_.mig_refused = call_.describe(function, result);
    if (result == kGpuIsLost) {
      gone_ = call_.describe(function, result);
    } else {
      failure_ = call_.describe(function, result);
      warnings_.push_back(
          fmt::format("GPU {} ({}): {}: {}", gpu_.index, gpu_.uuid.value, effect, failure_));
    }
    return false;
  }

  Calls& call_;
  const Api& api_;
  Device device_;
  const std::vector<gpu::MigInstance>& known_;
  const gpu::MigMinors& minors_;
  gpu::Gpu& gpu_;
  std::vector<std::string>& warnings_;
  std::optional<std::string> gone_;
  std::string failure_;  // the last one
};

}  // namespace

std::optional<std::string> read_mig_instances(Calls& call, Device device,
                                              const std::vector<gpu::MigInstance>& known,
                                              const gpu::MigMinors& minors, gpu::Gpu& gpu,
                                              std::vector<std::string>& warnings) {
  return MigReading(call, device, known, minors, gpu, warnings).read();
}

}  // namespace tranche::nvml
