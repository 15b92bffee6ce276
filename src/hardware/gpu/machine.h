#pragma once
// A node's hardware as values, as one reading of NVML and sysfs found it. Readers make a Machine
// (port gpu/reader.h); everything else only reads it. Orders: GPUs by NVML index, MIG instances by
// slot.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "gpu/ids.h"
#include "gpu/mig_profile.h"

namespace tranche::gpu {

enum class MigMode { kUnsupported, kDisabled, kEnabled };

// The shape of a MIG instance.
struct MigProfile {
  // The driver's spelling: "1g.5gb", "1g.5gb+me", "1c.2g.10gb".
  std::string name;
  int gpu_slices = 0;      // G: slices of the GPU instance
  int compute_slices = 0;  // C: slices of the compute instance, <= G

  // Whether the compute instance is only a part of its GPU instance ("1c.2g.10gb").
  bool partial() const { return compute_slices != gpu_slices; }
  auto operator<=>(const MigProfile&) const = default;
};

struct MigInstance {
  MigUuid uuid;
  int slot = 0;  // NVML's MIG device index on its GPU: the y of "x:y"
  int gpu_instance_id = 0;
  int compute_instance_id = 0;
  MigProfile profile;
  MigAttributes attributes;
  // Its GPU instance's memory slices; nullopt: not reported, which needs privilege.
  std::optional<Placement> placement;
  // A process that uses this instance needs /dev/nvidia-caps/nvidia-cap<N> of these minors N, from
  // /proc/driver/nvidia-caps/mig-minors; nullopt: the driver does not list them.
  std::optional<int> gpu_instance_cap;
  std::optional<int> compute_instance_cap;
  bool operator==(const MigInstance&) const = default;
};

// Whether the driver responded about the device.
enum class Presence {
  kPresent,
  kLost,     // NVML reports it gone (GPU_IS_LOST, not found, no driver)
  kUnknown,  // a call about it has not returned in time
};

// The multi-node NVLink fabric that a GPU belongs to (nvmlDeviceGetGpuFabricInfoV).
struct Fabric {
  std::string cluster_uuid;
  std::uint32_t clique_id = 0;
  bool operator==(const Fabric&) const = default;
};

struct Gpu {
  int index = 0;  // NVML's index
  GpuUuid uuid;
  std::string name;  // "NVIDIA L20", "Tesla T4"
  // "Tesla", "GeForceRTX", as NVIDIA's DRA driver spells them; empty: not reported.
  std::string brand;
  // How the GPU addresses programs' memory: "HMM", "ATS" or "None"; empty: not reported.
  std::string addressing_mode;
  int minor = 0;  // /dev/nvidia<minor>; -1: not reported by the driver
  PciAddress pci;
  PciIds pci_ids;
  Bytes memory;  // total, as nvidia-smi shows it; 0: not reported by NVML
  // The part of `memory` that programs cannot use (docs/decisions/0045-usable-memory.md).
  Bytes reserved;
  ComputeCapability compute_capability;
  MigMode mig_mode = MigMode::kUnsupported;
  std::vector<MigInstance> mig_instances;
  // Why the driver does not let this process read the instances; empty: it does.
  std::string mig_refused;
  // Why its MIG mode or instances could not be read, now or earlier; empty: they are
  // known.
  std::string mig_unread;
  // How the GPU can be partitioned; empty if MIG is not supported.
  MigGeometry mig_geometry;
  std::optional<int> numa_node;  // nullopt: not reported by the machine
  std::optional<Fabric> fabric;
  // Recovery action (nvmlDeviceGetFieldValues): 0 none, 1 GPU reset, 2 node reboot, 3 drain P2P,
  // 4 drain and reset; nullopt: not reported by the driver.
  std::optional<int> recovery_action;
  // The driver can limit how much of the GPU's memory a control group holds
  // (nvmlDeviceSetMemoryLimits_v1).
  bool kernel_memory_limits = false;
  Presence presence = Presence::kPresent;
  std::string presence_reason;  // text for people; empty when kPresent

  bool mig_enabled() const { return mig_mode == MigMode::kEnabled; }
  // Memory usable by all programs together, in whole MiB, at least 1: this is what is divided. 0:
  // unknown.
  Bytes usable_memory() const;
  bool operator==(const Gpu&) const = default;
};

// The nearest common point of two GPUs. The values are those of nvmlGpuTopologyLevel_t: the smaller
// the nearer.
enum class P2pLevel {
  kUnknown = -1,
  kInternal = 0,  // the same board
  kSingleSwitch = 10,
  kMultiSwitch = 20,
  kHostBridge = 30,
  kNode = 40,    // the same CPU
  kSystem = 50,  // across CPUs
};

struct Link {
  P2pLevel level = P2pLevel::kUnknown;
  int nvlinks = 0;  // direct NVLinks between the two; links to an NVSwitch are not counted
  bool operator==(const Link&) const = default;
};

// The links of all pairs of GPUs, numbered as in Machine::gpus, and those to NVSwitches. Symmetric.
// The diagonal has no meaning.
class Topology {
 public:
  Topology() = default;
  explicit Topology(std::size_t gpus) : size_(gpus), links_(gpus * gpus), switch_links_(gpus) {}

  std::size_t size() const { return size_; }
  const Link& at(std::size_t a, std::size_t b) const { return links_[a * size_ + b]; }
  void set(std::size_t a, std::size_t b, Link link) {
    links_[a * size_ + b] = link;
    links_[b * size_ + a] = link;
  }
  // How many NVLinks of a GPU lead to NVSwitches and are up.
  int switch_links(std::size_t gpu) const { return switch_links_[gpu]; }
  void set_switch_links(std::size_t gpu, int links) { switch_links_[gpu] = links; }
  bool operator==(const Topology&) const = default;

 private:
  std::size_t size_ = 0;
  std::vector<Link> links_;
  std::vector<int> switch_links_;
};

// The vGPU host driver, as a guest reads it from the PCI configuration space.
struct VgpuInfo {
  std::string host_driver_version;
  std::string host_driver_branch;
  bool operator==(const VgpuInfo&) const = default;
};

// Facts about the node that NVML does not report.
struct Host {
  bool cgroup_v2 = false;                   // the node has only cgroup v2
  std::optional<std::string> product_name;  // /sys/class/dmi/id/product_name, trimmed
  // PCI class of every NVIDIA display function (0x030200 = 3D controller, 0x030000 = VGA),
  // including those that are not GPUs of the machine.
  std::map<PciAddress, std::uint32_t> display_classes;
  // False: the PCI functions could not be read, so facts from them are missing.
  bool pci_known = true;
  std::optional<VgpuInfo> vgpu;  // first NVIDIA function with the vGPU vendor capability
  bool operator==(const Host&) const = default;
};

struct Machine {
  std::string driver_version;   // "570.158.01"
  int cuda_driver_version = 0;  // 12080 = CUDA 12.8
  std::vector<Gpu> gpus;
  Host host;
  // What the reader could not determine, one line each, for the log.
  std::vector<std::string> warnings;

  bool operator==(const Machine&) const = default;
};

// The GPU with this UUID; nullptr if there is none.
const Gpu* find_gpu(const Machine& machine, const GpuUuid& uuid);

// `now`, plus the GPUs that only `before` has, as kLost with their old description. So the tranches
// of a GPU that fell off the bus stay listed as unhealthy instead of vanishing. GPUs that are kLost
// or kUnknown in `now` keep their description from `before`.
Machine remember_lost(const Machine& before, Machine now);

}  // namespace tranche::gpu
