// nvidia-smi mig -cgi, -cci, -dci, -dgi: makes and destroys instances.

#include <algorithm>
#include <array>

#include "fmt/format.h"
#include "sim/machine/read_number.h"
#include "sim/smi/mig.h"

namespace tranche::sim::smi {
namespace {

using ComputeProfile = nvmlComputeInstanceProfileInfo_v2_t;

// "MIG 1g.5gb" without its first word.
std::string_view bare(std::string_view name) {
  return name.starts_with("MIG ") ? name.substr(4) : name;
}

// The profile for a number or a name; nullptr: there is none.
template <class Profile>
const Profile* find(const std::vector<Profile>& profiles, std::string_view wish) {
  const auto id = read_number<unsigned>(std::string(wish));
  for (const Profile& profile : profiles) {
    if (id ? profile.id == *id : bare(profile.name) == bare(wish)) return &profile;
  }
  return nullptr;
}

std::vector<ComputeProfile> compute_profiles_of(nvmlGpuInstance_t instance) {
  std::vector<ComputeProfile> profiles;
  for (unsigned int constant = 0; constant < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++constant) {
    ComputeProfile profile = {};
    profile.version = struct_version<ComputeProfile>(2);
    const unsigned int engine = 0;
    if (nvml("nvmlGpuInstanceGetComputeInstanceProfileInfoV", instance, constant, engine,
             &profile) == NVML_SUCCESS) {
      profiles.push_back(profile);
    }
  }
  return profiles;
}

// One instance of a GPU.
struct Owner {
  unsigned int gpu = 0;
  unsigned int id = 0;
  nvmlGpuInstance_t handle = nullptr;
};

nvmlReturn_t create_compute(const Owner& owner, const ComputeProfile& profile) {
  nvmlComputeInstance_t made = nullptr;
  nvmlComputeInstanceInfo_t info = {};
  const unsigned int id = profile.id;
  nvmlReturn_t code = nvml("nvmlGpuInstanceCreateComputeInstance", owner.handle, id, &made);
  if (code == NVML_SUCCESS) code = nvml("nvmlComputeInstanceGetInfo_v2", made, &info);
  if (code != NVML_SUCCESS) {
    fmt::print(
        "Unable to create a compute instance on GPU {:>2} GPU instance ID {:>2} using "
        "profile {}: {}\n",
        owner.gpu, owner.id, id, nvml_text(code));
    return code;
  }
  fmt::print(
      "Successfully created compute instance ID {:>2} on GPU {:>2} GPU instance ID {:>2} using "
      "profile {} (ID {:>2})\n",
      info.id, owner.gpu, owner.id, profile.name, id);
  return NVML_SUCCESS;
}

// The compute instance that takes all of it.
nvmlReturn_t create_whole(const Owner& owner) {
  const auto profiles = compute_profiles_of(owner.handle);
  const auto whole = std::ranges::max_element(profiles, {}, &ComputeProfile::sliceCount);
  return whole == profiles.end() ? NVML_ERROR_NOT_SUPPORTED : create_compute(owner, *whole);
}

nvmlReturn_t create_instance(const GpuRow& gpu, std::string_view wish, bool with_compute) {
  const auto colon = wish.find(':');
  const auto profiles = profiles_of(gpu.device);
  const auto* profile = find(profiles, wish.substr(0, colon));
  if (profile == nullptr) {
    fmt::print("Unable to create a GPU instance on GPU {:>2} using profile {}: Invalid Argument\n",
               gpu.index, wish);
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  nvmlGpuInstance_t made = nullptr;
  nvmlReturn_t code = NVML_SUCCESS;
  const unsigned int id = profile->id;
  if (colon == wish.npos) {
    code = nvml("nvmlDeviceCreateGpuInstance", gpu.device, id, &made);
  } else {
    const auto start = read_number<unsigned>(std::string(wish.substr(colon + 1)));
    std::array<nvmlGpuInstancePlacement_t, 32> places = {};
    unsigned int count = places.size();
    std::ignore = nvml("nvmlDeviceGetGpuInstancePossiblePlacements_v2", gpu.device, id,
                       places.data(), &count);
    const nvmlGpuInstancePlacement_t place = {start.value_or(99), places[0].size};
    code = nvml("nvmlDeviceCreateGpuInstanceWithPlacement", gpu.device, id, &place, &made);
  }
  nvmlGpuInstanceInfo_t info = {};
  if (code == NVML_SUCCESS) code = nvml("nvmlGpuInstanceGetInfo", made, &info);
  if (code != NVML_SUCCESS) {
    fmt::print("Unable to create a GPU instance on GPU {:>2} using profile {}: {}\n", gpu.index, id,
               nvml_text(code));
    return code;
  }
  fmt::print(
      "Successfully created GPU instance ID {:>2} on GPU {:>2} using profile {} (ID {:>2})\n",
      info.id, gpu.index, profile->name, id);
  return with_compute ? create_whole({gpu.index, info.id, made}) : NVML_SUCCESS;
}

bool is_named(const std::vector<std::string>& ids, unsigned int id) {
  return ids.empty() || std::ranges::find(ids, std::to_string(id)) != ids.end();
}

// The GPU instances that are named by -gi, or all.
std::vector<Owner> owners(const std::vector<GpuRow>& gpus, const MigWish& wish) {
  std::vector<Owner> found;
  for (const GpuRow& gpu : gpus) {
    for (const auto& [handle, profile] : instances_of(gpu)) {
      nvmlGpuInstanceInfo_t info = {};
      if (nvml("nvmlGpuInstanceGetInfo", handle, &info) != NVML_SUCCESS) continue;
      if (is_named(wish.gpu_instances, info.id)) found.push_back({gpu.index, info.id, handle});
    }
  }
  std::ranges::sort(found, {}, [](const Owner& one) { return std::pair(one.gpu, one.id); });
  return found;
}

// Ends with the first that fails, as the real one.
int end(nvmlReturn_t code, std::string_view doing) {
  if (code != NVML_SUCCESS) fmt::print("Failed to {}: {}\n", doing, nvml_text(code));
  return code;
}

int none(std::string_view what) {
  fmt::print("No {} instances found: Not Found\n", what);
  return NVML_ERROR_NOT_FOUND;
}

int create_all(const std::vector<GpuRow>& gpus, const MigWish& wish) {
  for (const GpuRow& gpu : gpus) {
    for (const std::string& one : wish.profiles) {
      const nvmlReturn_t code = create_instance(gpu, one, wish.with_compute);
      if (code != NVML_SUCCESS) return end(code, "create GPU instances");
    }
  }
  return 0;
}

int create_compute_all(const std::vector<Owner>& in, const MigWish& wish) {
  for (const Owner& owner : in) {
    if (wish.profiles.empty()) {
      const nvmlReturn_t code = create_whole(owner);
      if (code != NVML_SUCCESS) return end(code, "create compute instances");
    }
    const auto profiles = compute_profiles_of(owner.handle);
    for (const std::string& one : wish.profiles) {
      const auto* profile = find(profiles, one);
      const nvmlReturn_t code =
          profile == nullptr ? NVML_ERROR_INVALID_ARGUMENT : create_compute(owner, *profile);
      if (code != NVML_SUCCESS) return end(code, "create compute instances");
    }
  }
  return 0;
}

int destroy_compute_all(const std::vector<Owner>& in, const MigWish& wish) {
  bool any = false;
  for (const Owner& owner : in) {
    for (unsigned int id = 0; id < 8; ++id) {
      nvmlComputeInstance_t compute = nullptr;
      if (!is_named(wish.compute_instances, id) ||
          nvml("nvmlGpuInstanceGetComputeInstanceById", owner.handle, id, &compute) !=
              NVML_SUCCESS) {
        continue;
      }
      any = true;
      const nvmlReturn_t code = nvml("nvmlComputeInstanceDestroy", compute);
      if (code != NVML_SUCCESS) {
        fmt::print(
            "Unable to destroy compute instance ID {:>2} from GPU {:>2} GPU instance ID {:>2}: "
            "{}\n",
            id, owner.gpu, owner.id, nvml_text(code));
        return end(code, "destroy compute instances");
      }
      fmt::print(
          "Successfully destroyed compute instance ID {:>2} from GPU {:>2} GPU instance ID "
          "{:>2}\n",
          id, owner.gpu, owner.id);
    }
  }
  return any ? 0 : none("compute");
}

int destroy_all(const std::vector<Owner>& in) {
  for (const Owner& owner : in) {
    const nvmlReturn_t code = nvml("nvmlGpuInstanceDestroy", owner.handle);
    if (code != NVML_SUCCESS) {
      fmt::print("Unable to destroy GPU instance ID {:>2} from GPU {:>2}: {}\n", owner.id,
                 owner.gpu, nvml_text(code));
      return end(code, "destroy GPU instances");
    }
    fmt::print("Successfully destroyed GPU instance ID {:>2} from GPU {:>2}\n", owner.id,
               owner.gpu);
  }
  return in.empty() ? none("GPU") : 0;
}

}  // namespace

bool is_mig_change(const std::string& flag) {
  return flag == "-cgi" || flag == "-cci" || flag == "-dci" || flag == "-dgi";
}

int change_mig(const std::string& flag, const MigWish& wish, const std::vector<GpuRow>& all) {
  const auto gpus = mig_enabled(all);
  if (gpus.empty()) return no_mig_enabled();
  if (flag == "-cgi") return create_all(gpus, wish);
  const auto in = owners(gpus, wish);
  if (flag == "-dgi") return destroy_all(in);
  if (in.empty()) return none(flag == "-dci" ? "compute" : "GPU");
  return flag == "-cci" ? create_compute_all(in, wish) : destroy_compute_all(in, wish);
}

}  // namespace tranche::sim::smi
