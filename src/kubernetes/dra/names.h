#pragma once
// Names in ResourceSlices. Device names are those of NVIDIA's DRA driver.

#include <string>
#include <string_view>

#include "gpu/machine.h"
#include "gpu/mig_profile.h"

namespace tranche::dra {

// Our addition to NVIDIA's attributes: which GPUs are linked by NVLink, for a claim that wants
// several of them together (matchAttribute).
inline constexpr std::string_view kIslandAttribute = "tranche.dev/nvlinkIsland";
// On a device that only requests with adminAccess get. The chart's policy adds the toleration.
inline constexpr const char* kAdminTaint = "tranche.dev/admin-access";
inline constexpr std::string_view kPciBusIdAttribute = "resource.kubernetes.io/pciBusID";
inline constexpr std::string_view kPcieRootAttribute = "resource.kubernetes.io/pcieRoot";

// "gpu-0", by the minor number, or else by NVML's index.
std::string gpu_device_name(const gpu::Gpu& gpu);
// "gpu-0-admin": the same GPU for requests with adminAccess alone.
std::string admin_device_name(const gpu::Gpu& gpu);
// "gpu-0-mig-1g10gb-19-3": profile without its dot, its id, the first memory slice. Characters not
// allowed in a DNS label become hyphens ("1g10gb-me").
std::string mig_device_name(const gpu::Gpu& gpu, const gpu::GpuInstanceProfile& profile, int start);
// "gpu-0-mig-1g10gb-gi9-ci0": an existing instance, by the driver's ids.
std::string existing_device_name(const gpu::Gpu& gpu, const gpu::MigInstance& instance);
// "gpu-0-counter-set".
std::string counter_set_name(const gpu::Gpu& gpu);

// Kubernetes counts pools only by name (its issue 140434), so another driver's pool with the node's
// name would be mixed up with ours, and so would ours under the driver's former name:
// "gpu-<node>/<driver>", and without the driver where it has its default name.
std::string pool_name(std::string_view node, std::string_view driver);
// The allocator goes through a pool's slices by name: "n1-gpu.nvidia.com-00", ... A name that is
// too long is cut, and made unique by a checksum.
std::string slice_name(std::string_view node, std::string_view driver, std::size_t number);

// A version in Kubernetes' format, three numbers without leading zeros: "570.158.01" becomes
// "570.158.1", and "12.8" becomes "12.8.0". Empty: not a version.
std::string semantic_version(std::string_view text);

}  // namespace tranche::dra
