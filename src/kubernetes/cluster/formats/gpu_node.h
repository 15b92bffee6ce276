#pragma once
// GPUNode (tranche.dev/v1alpha1, cluster-scoped): what one node's agent knows of the node's GPUs
// and of who holds them. The object has the Node's name, and only that node's agent writes it. Its
// spec is empty; everything stands in the status. Schema:
// docs/schemas/gpu-node-v1alpha1.schema.json, for people: docs/gpunode.md.
//
// It has states, no measurements: how busy a GPU is changes every second, and metrics tell it. It
// never has environment variables, mounts or secrets.
//
// A reader ignores fields that it does not know, and keeps words (wire, use, level) as written: the
// agent may be of a later release.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cluster/formats/node_mode.h"
#include "cluster/metadata.h"

namespace tranche::cluster {

struct GpuNodeInstance {
  std::string uuid;               // "MIG-..."
  std::string profile;            // the driver's spelling: "1g.10gb+me"
  std::int64_t slot = 0;          // NVML's MIG device index on its GPU
  std::optional<Bytes> memory{};  // nullopt: unknown
  std::string unhealthy{};        // why it is unhealthy; empty: it is healthy
  bool operator==(const GpuNodeInstance&) const = default;
};

struct GpuNodeGpu {
  std::int64_t index = 0;         // NVML's
  std::string uuid;               // "GPU-..."
  std::string model;              // NVML's product name: "NVIDIA A100-SXM4-80GB"
  std::string pci{};              // sysfs's spelling: "0000:3b:00.0"; empty: unknown
  std::optional<Bytes> memory{};  // nullopt: unknown
  std::string mig{};              // "unsupported", "disabled", "enabled"
  // nullopt: the driver did not report them.
  std::optional<std::vector<GpuNodeInstance>> instances{};
  std::int64_t nvswitch_links = 0;  // NVLinks to NVSwitches that are up
  std::string unhealthy{};          // why it is unhealthy; empty: it is healthy
  bool operator==(const GpuNodeGpu&) const = default;
};

// How two GPUs are connected.
struct GpuNodeLink {
  std::int64_t a = 0;  // GpuNodeGpu::index; a < b
  std::int64_t b = 0;
  // The nearest common point: "board", "single-switch", "multi-switch", "host-bridge", "node",
  // "system", "unknown" (nvmlGpuTopologyLevel_t).
  std::string level;
  std::int64_t nvlinks = 0;  // direct NVLinks between the two
  bool operator==(const GpuNodeLink&) const = default;
};

// A device of a resource, and how many tranches it is cut into.
struct GpuNodeDevice {
  std::string uuid;
  std::int64_t tranches = 0;
  std::int64_t withheld = 0;  // of them
  bool operator==(const GpuNodeDevice&) const = default;
};

// One resource that the node advertises. Each tranche counts as healthy, unhealthy or withheld.
// Those that Pods hold count too: `holdings` has them.
struct GpuNodeResource {
  std::string name;     // "nvidia.com/gpu"; in mode `dra` the driver's: "gpu.nvidia.com"
  std::string sharing;  // "none", "time-slicing", "mps"; in mode `dra` "claims"
  std::int64_t tranches = 0;
  std::int64_t healthy = 0;
  std::int64_t unhealthy = 0;  // their device is unhealthy
  std::int64_t withheld = 0;   // kept back though their device is healthy
  std::vector<GpuNodeDevice> devices{};
  bool operator==(const GpuNodeResource&) const = default;
};

// What the configuration asks for and the node keeps back.
struct GpuNodeWithheld {
  std::string resource;
  std::vector<std::string> devices{};  // for people: "GPU 1 (GPU-...)"; empty: all of it
  std::string reason;                  // why, and what to do
  bool operator==(const GpuNodeWithheld&) const = default;
};

// The part of a device to which a container is held.
struct GpuNodePart {
  std::optional<Bytes> memory{};           // nullopt: no limit
  std::int64_t weight = 1;                 // among those that want the device's time
  std::optional<std::int64_t> permille{};  // of the device's time; nullopt: no cap
  std::optional<Bytes> borrows_up_to{};    // nullopt: it does not borrow
  std::string enforcer{};                  // "mig", "kernel", "mps", "limiter"
  bool operator==(const GpuNodePart&) const = default;
};

// Who holds which part of which device (holdings/holding.h says what the fields mean). Empty: not
// known, or of no meaning here.
struct GpuNodeHolding {
  std::string device{};
  std::string gpu{};
  std::optional<GpuNodePart> part{};  // nullopt: no limits, or not known
  std::string wire;                   // "device-plugin", "claim", "none"
  std::string resource{};
  std::string id{};
  std::string claim{};
  std::string request{};
  std::string tenant{};
  std::string ns{};
  std::string pod{};
  std::string pod_uid{};
  std::string container{};
  std::string use;    // "whole", "time-sliced", "mps", "shared"
  std::string state;  // "reserved", "given", "in-use"
  bool operator==(const GpuNodeHolding&) const = default;
};

// Why something on the node is not as configured.
struct GpuNodeReason {
  std::string about;  // "configuration", "nvidia.com/gpu", "GPU-...", "driver"
  std::string message;
  bool operator==(const GpuNodeReason&) const = default;
};

// The node in a few words and numbers, for the columns of kubectl. They count everything, also what
// is cut from the lists.
struct GpuNodeSummary {
  std::int64_t gpus = 0;
  std::int64_t healthy_gpus = 0;
  std::string model{};        // "A100-SXM4-80GB", "L20 and 1 more"
  std::int64_t tranches = 0;  // of all resources
  std::int64_t held = 0;      // holdings
  bool operator==(const GpuNodeSummary&) const = default;
};

// How many entries are left out, because the status would be longer than kLongestGpuNodeStatus.
struct GpuNodeTruncated {
  std::int64_t holdings = 0;
  std::int64_t links = 0;
  std::int64_t devices = 0;  // of resources
  std::int64_t withheld = 0;
  std::int64_t reasons = 0;
  std::int64_t instances = 0;
  std::int64_t gpus = 0;
  std::int64_t resources = 0;
  bool operator==(const GpuNodeTruncated&) const = default;
};

struct GpuNodeStatus {
  std::string agent{};             // "tranche 0.1.0"
  std::optional<NodeMode> mode{};  // nullopt: not decided yet, or a later release's
  std::string driver{};            // NVIDIA driver's version: "570.158.01"
  std::string cuda{};              // that it supports: "12.8"
  GpuNodeSummary summary{};
  std::vector<GpuNodeGpu> gpus{};  // by index
  std::vector<GpuNodeLink> links{};
  std::vector<GpuNodeResource> resources{};
  std::vector<GpuNodeWithheld> withheld{};
  std::vector<GpuNodeHolding> holdings{};
  std::vector<GpuNodeReason> reasons{};
  GpuNodeTruncated truncated{};
  bool operator==(const GpuNodeStatus&) const = default;
};

struct GpuNode {
  std::string name;  // the Node's
  std::string uid{};
  std::string resource_version{};
  std::vector<OwnerReference> owners{};  // the Node
  // nullopt: the object is there, and its agent has not written yet.
  std::optional<GpuNodeStatus> status{};
  bool operator==(const GpuNode&) const = default;
};

// Bytes of the status as compact JSON.
inline constexpr std::size_t kLongestGpuNodeStatus = std::size_t{64} << 10U;

// kInvalidArgument, with the path of the field: it has another type.
Result<GpuNode> parse_gpu_node(std::string_view json);
// For create, apply (also of the subresource `status`) and the snapshot; uid and resource_version
// only if set.
std::string to_json(const GpuNode& node);
// The status alone, as it stands in the object.
std::string to_json(const GpuNodeStatus& status);

}  // namespace tranche::cluster
