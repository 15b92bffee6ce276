// nvidia-smi mig -lgip, -lgipp, -lgi, -lci.

#include "sim/smi/mig.h"

#include <array>

#include "fmt/format.h"

namespace tranche::sim::smi {

std::vector<GpuProfile> profiles_of(nvmlDevice_t device) {
  std::vector<GpuProfile> profiles;
  for (unsigned int constant = 0; constant < NVML_GPU_INSTANCE_PROFILE_COUNT; ++constant) {
    GpuProfile profile = {};
    profile.version = struct_version<GpuProfile>(2);
    if (nvml("nvmlDeviceGetGpuInstanceProfileInfoV", device, constant, &profile) == NVML_SUCCESS) {
      profiles.push_back(profile);
    }
  }
  return profiles;
}

std::vector<std::pair<nvmlGpuInstance_t, GpuProfile>> instances_of(const GpuRow& gpu) {
  std::vector<std::pair<nvmlGpuInstance_t, GpuProfile>> found;
  for (const GpuProfile& profile : profiles_of(gpu.device)) {
    std::array<nvmlGpuInstance_t, 32> instances = {};
    unsigned int count = instances.size();
    const unsigned int id = profile.id;
    if (nvml("nvmlDeviceGetGpuInstances", gpu.device, id, instances.data(), &count) !=
        NVML_SUCCESS) {
      continue;
    }
    for (unsigned int i = 0; i < count; ++i) found.emplace_back(instances[i], profile);
  }
  return found;
}

std::vector<GpuRow> mig_enabled(const std::vector<GpuRow>& gpus) {
  std::vector<GpuRow> enabled;
  for (const GpuRow& gpu : gpus) {
    const auto mode = mig_mode(gpu.device);
    if (mode && mode->first) enabled.push_back(gpu);
  }
  return enabled;
}

int no_mig_enabled() {
  fmt::print("No MIG-enabled devices found.\n");
  return NVML_ERROR_NOT_FOUND;
}

namespace {

void rule() { fmt::print("+{:-<78}+\n", ""); }

void head(std::string_view title) {
  rule();
  fmt::print("| {:<76} |\n", title);
}

void print_profiles(const GpuRow& gpu) {
  for (const GpuProfile& profile : profiles_of(gpu.device)) {
    unsigned int free = 0;
    const unsigned int id = profile.id;
    std::ignore = nvml("nvmlDeviceGetGpuInstanceRemainingCapacity", gpu.device, id, &free);
    fmt::print(
        "| {:>3}  {:<20} {:>3}     {:>2}/{:<2}     {:>8.2f}   {:>4}   {:>3} {:>3} {:>3}    |\n",
        gpu.index, profile.name, profile.id, free, profile.instanceCount,
        static_cast<double>(profile.memorySizeMB) / 1024.0, profile.multiprocessorCount,
        profile.decoderCount, profile.encoderCount, profile.copyEngineCount);
  }
}

void print_placements(const GpuRow& gpu) {
  for (const GpuProfile& profile : profiles_of(gpu.device)) {
    std::array<nvmlGpuInstancePlacement_t, 32> places = {};
    unsigned int count = places.size();
    const unsigned int id = profile.id;
    if (nvml("nvmlDeviceGetGpuInstancePossiblePlacements_v2", gpu.device, id, places.data(),
             &count) != NVML_SUCCESS) {
      continue;
    }
    std::string starts;
    for (unsigned int i = 0; i < count; ++i) {
      starts += fmt::format("{}{}", i == 0 ? "" : ",", places[i].start);
    }
    fmt::print("GPU {:>2} Profile ID {:>2} Placement{}: {{{}}}:{}\n", gpu.index, profile.id,
               count > 1 ? "s" : "", starts, count > 0 ? places[0].size : 0);
  }
}

bool print_instances(const GpuRow& gpu) {
  bool any = false;
  for (const auto& [instance, profile] : instances_of(gpu)) {
    nvmlGpuInstanceInfo_t info = {};
    if (nvml("nvmlGpuInstanceGetInfo", instance, &info) != NVML_SUCCESS) continue;
    any = true;
    fmt::print("| {:>3}  {:<20} {:>8} {:>12} {:>16}:{:<11} |\n", gpu.index, profile.name,
               info.profileId, info.id, info.placement.start, info.placement.size);
  }
  return any;
}

bool print_compute_instances(const GpuRow& gpu) {
  bool any = false;
  for (const auto& [instance, ignored] : instances_of(gpu)) {
    nvmlGpuInstanceInfo_t owner = {};
    if (nvml("nvmlGpuInstanceGetInfo", instance, &owner) != NVML_SUCCESS) continue;
    for (unsigned int id = 0; id < 8; ++id) {
      nvmlComputeInstance_t compute = nullptr;
      nvmlComputeInstanceInfo_t info = {};
      nvmlComputeInstanceProfileInfo_v2_t profile = {};
      profile.version = struct_version<nvmlComputeInstanceProfileInfo_v2_t>(2);
      const unsigned int engine = 0;
      if (nvml("nvmlGpuInstanceGetComputeInstanceById", instance, id, &compute) != NVML_SUCCESS ||
          nvml("nvmlComputeInstanceGetInfo_v2", compute, &info) != NVML_SUCCESS ||
          nvml("nvmlGpuInstanceGetComputeInstanceProfileInfoV", instance, info.profileId, engine,
               &profile) != NVML_SUCCESS) {
        continue;
      }
      any = true;
      fmt::print("| {:>3} {:>8}    {:<20} {:>8} {:>10} {:>12}:{:<6} |\n", gpu.index, owner.id,
                 profile.name, info.profileId, info.id, info.placement.start, info.placement.size);
    }
  }
  return any;
}

}  // namespace

int print_mig(const std::string& flag, const std::vector<GpuRow>& all) {
  const auto gpus = mig_enabled(all);
  if (gpus.empty()) return no_mig_enabled();
  if (flag == "-lgipp") {
    for (const GpuRow& gpu : gpus) print_placements(gpu);
    return 0;
  }
  if (flag == "-lgip") {
    head("GPU instance profiles:");
    head("GPU   Name                  ID   Free/Total   Memory GiB    SM   DEC ENC CE");
    rule();
    for (const GpuRow& gpu : gpus) print_profiles(gpu);
    rule();
    return 0;
  }
  bool any = false;
  const bool compute = flag == "-lci";
  head(compute ? "Compute instances:" : "GPU instances:");
  head(compute ? "GPU  GPU inst.  Name                  Profile    Instance  Placement"
               : "GPU   Name                  Profile ID  Instance ID   Placement start:size");
  rule();
  for (const GpuRow& gpu : gpus) {
    any = (compute ? print_compute_instances(gpu) : print_instances(gpu)) || any;
  }
  rule();
  if (any) return 0;
  fmt::print("No {} instances found: Not Found\n", compute ? "compute" : "GPU");
  return NVML_ERROR_NOT_FOUND;
}

}  // namespace tranche::sim::smi
