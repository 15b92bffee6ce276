#pragma once
// The names under which programs know GPUs that kubelet knows by other names: without the number of
// a replica ("GPU-...::3" is of GPU-...), under a resource's usual name, and of claims at all.

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/object.h"

namespace tranche::kubelet {

inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kMigResource = "nvidia.com/mig-";  // and the profile

// "GPU-...::3" -> "GPU-...", "MIG-...::0" -> "MIG-...". Empty: it is no GPU's or MIG instance's
// UUID.
std::string_view gpu_of_id(std::string_view id);
// The name under which a GPU or instance of the resource is listed: its own if that is one that
// NVIDIA's programs look for, else "nvidia.com/gpu".
std::string_view usual_resource(std::string_view resource);

// A device of a claim as the scheduler has it.
struct AllocatedDevice {
  std::string driver;
  std::string pool;
  std::string device;    // its name in the pool: "gpu-0"
  std::string share_id;  // empty: not shared
};

struct GpuNameSources {
  // UUIDs of what the claim's device is here; empty: it is no GPU of this node.
  std::function<std::vector<std::string>(const cluster::ObjectKey& claim, const AllocatedDevice&)>
      claimed;
  // Whether the Pod has ended: older kubelets list those too.
  std::function<bool(const std::string& ns, const std::string& pod)> has_ended;
};

}  // namespace tranche::kubelet
