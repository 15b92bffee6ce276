#pragma once
// The node's current configuration. It is made once from NVIDIA's config file v1, flags and
// environment (config/file/load.h), and never changed afterwards. docs/configuration.md explains
// the fields. Our own fields are under the key `tranche:`.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/limits.h"
#include "config/resource_name.h"

namespace tranche::config {

enum class MigStrategy { kNone, kSingle, kMixed };
enum class DeviceListStrategy { kEnvvar, kVolumeMounts, kCdiAnnotations, kCdiCri };
enum class DeviceIdStrategy { kUuid, kIndex };
enum class AllocationPolicy { kDistributed, kPacked };
enum class SharingStrategy { kNone, kTimeSlicing, kMps };
enum class DiscoveryStrategy { kAuto, kNvml, kTegra, kVfio };

// The devices that an entry applies to (`devices:`). Only effective with
// tranche.honorIgnoredFields.
struct AllDevices {
  bool operator==(const AllDevices&) const = default;
};
struct DeviceCount {
  int count = 0;  // the first `count` devices of the resource, by index
  bool operator==(const DeviceCount&) const = default;
};
// Items as written: "0" (GPU index), "0:1" (GPU index : MIG slot), "GPU-<uuid>", "MIG-<uuid>",
// "MIG-GPU-<uuid>/<gi>/<ci>".
struct DeviceList {
  std::vector<std::string> items;
  bool operator==(const DeviceList&) const = default;
};
using Devices = std::variant<AllDevices, DeviceCount, DeviceList>;

struct ReplicatedResource {
  ResourceName name;
  // The name under which the replicas are advertised; nullopt: `name` itself. settle() has already
  // applied renameByDefault and honorIgnoredFields.
  std::optional<ResourceName> rename;
  Devices devices = AllDevices{};
  // At least 1. With 1 the devices are not shared, and renameByDefault does not rename them; an
  // explicit `rename` does.
  int replicas = 1;
  int line = 0;  // in the file; 0: not from a file
  bool operator==(const ReplicatedResource&) const = default;

  const ResourceName& advertised() const { return rename ? *rename : name; }
};

// sharing.timeSlicing or sharing.mps.
struct ReplicatedResources {
  bool rename_by_default = false;
  // Default if the file does not set it: false for timeSlicing, true for mps.
  bool fail_requests_greater_than_one = false;
  std::vector<ReplicatedResource> resources;
  bool operator==(const ReplicatedResources&) const = default;
};

struct Sharing {
  std::optional<ReplicatedResources> time_slicing;
  std::optional<ReplicatedResources> mps;
  bool operator==(const Sharing&) const = default;

  // The strategy of the active list: mps or time-slicing if any replicas > 1, else none.
  SharingStrategy strategy() const;
  // The active list (mps if set, else timeSlicing); nullptr when neither is set.
  const ReplicatedResources* active() const;
};

// resources.gpus[] and resources.mig[]: GPUs whose product name (or MIG profile) matches `pattern`
// (`*` wildcard, anchored) are advertised as `name`. Empty unless tranche.honorIgnoredFields.
struct ResourcePattern {
  std::string pattern;
  ResourceName name;
  bool operator==(const ResourcePattern&) const = default;
};
// Whether `text` matches `pattern` (literal except for `*`, anchored at both ends).
bool matches_pattern(const std::string& pattern, const std::string& text);

struct PluginFlags {
  bool pass_device_specs = false;
  std::vector<DeviceListStrategy> device_list_strategies = {DeviceListStrategy::kEnvvar};
  DeviceIdStrategy device_id_strategy = DeviceIdStrategy::kUuid;
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  std::string nvidia_ctk_path = "/usr/bin/nvidia-ctk";
  std::string container_driver_root = "/driver-root";
  AllocationPolicy shared_devices_allocation_policy = AllocationPolicy::kDistributed;
  bool operator==(const PluginFlags&) const = default;
};

struct GfdFlags {
  bool oneshot = false;
  bool no_timestamp = false;
  // nullopt: infinite.
  std::optional<std::chrono::nanoseconds> sleep_interval = std::chrono::seconds(60);
  std::string output_file = "/etc/kubernetes/node-feature-discovery/features.d/gfd";  // "": stdout
  std::string machine_type_file = "/sys/class/dmi/id/product_name";
  bool operator==(const GfdFlags&) const = default;
};

struct Flags {
  MigStrategy mig_strategy = MigStrategy::kNone;
  bool fail_on_init_error = true;
  std::string mps_root;
  std::string nvidia_driver_root = "/";
  std::string nvidia_dev_root = "/";  // settled: a copy of nvidia_driver_root if unset
  bool gdrcopy_enabled = false;
  bool gds_enabled = false;
  bool mofed_enabled = false;
  bool use_node_feature_api = false;
  DiscoveryStrategy device_discovery_strategy = DiscoveryStrategy::kAuto;
  PluginFlags plugin;
  GfdFlags gfd;
  bool operator==(const Flags&) const = default;
};

struct Imex {
  std::vector<int> channel_ids;  // {} or {0}
  bool required = false;
  bool operator==(const Imex&) const = default;
};

// tranche.mps.smPartitions: static SM partitions of resources that MPS shares, one for each replica
// of a device. A chunk is the driver's unit: a group of multiprocessors.
struct EqualChunks {  // an equal number for each replica, using all chunks
  bool operator==(const EqualChunks&) const = default;
};
using SmPartitions = std::variant<std::monostate, EqualChunks, int>;  // none, equal, chunks each

// tranche.mps: how NVIDIA's control daemons are run. If a node's driver lacks a feature, the agent
// continues without it and logs it (mps/capability.h).
struct MpsControlRules {
  int protocol = 2;  // CUDA_MPS_PROTOCOL_VERSION: 2 or 3
  SmPartitions sm_partitions;
  bool operator==(const MpsControlRules&) const = default;
};

// tranche.onChange: what happens to a device that containers still hold under an earlier promise
// when the configuration promises it differently.
enum class OnChange {
  kWithhold,  // it is not allocated until they are gone
  kAsNvidia,  // it is allocated at once
};

// The fields under the key `tranche:`.
struct Extras {
  // Honour sharing.*.resources[].rename and .devices, and resources.*, which NVIDIA parses and
  // ignores.
  bool honor_ignored_fields = false;
  LimitTable limits;
  MpsControlRules mps;
  OnChange on_change = OnChange::kWithhold;
  bool operator==(const Extras&) const = default;
};

struct Config {
  Flags flags;
  std::vector<ResourcePattern> gpus;  // resources.gpus
  std::vector<ResourcePattern> migs;  // resources.mig
  Sharing sharing;
  Imex imex;
  Extras tranche;
  bool operator==(const Config&) const = default;

  bool uses(DeviceListStrategy strategy) const;
  bool uses_cdi() const;
};

// NVIDIA's spelling in files, flags and labels: "none", "envvar", "time-slicing", ...
std::string_view to_string(MigStrategy value);
std::string_view to_string(DeviceListStrategy value);
std::string_view to_string(DeviceIdStrategy value);
std::string_view to_string(AllocationPolicy value);
std::string_view to_string(SharingStrategy value);
std::string_view to_string(DiscoveryStrategy value);
std::string_view to_string(OnChange value);

// Parses that spelling; nullopt if the text is not a value of the enumeration.
std::optional<MigStrategy> mig_strategy_of(std::string_view text);
std::optional<DeviceListStrategy> device_list_strategy_of(std::string_view text);
std::optional<DeviceIdStrategy> device_id_strategy_of(std::string_view text);
std::optional<AllocationPolicy> allocation_policy_of(std::string_view text);
std::optional<DiscoveryStrategy> discovery_strategy_of(std::string_view text);

}  // namespace tranche::config
