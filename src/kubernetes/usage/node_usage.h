#pragma once
// Who uses what of one node's GPUs at one moment, as a value: what `tranche top`, the web page and
// /metrics say of it. Sizes are bytes, shares are 0 to 1. What is not known is nullopt, never 0.
// Its form as JSON is usage/v1 (usage/node_usage_json.h).
//
// Names of Pods and of processes come from tenants: whoever prints them escapes them.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::usage {

// How a container shares its device.
enum class Mechanism {
  kExclusive,
  kMig,
  kTimeSlicing,
  kMps,
  kShare,
  kNone,  // it uses a device that nobody gave it
};
// "exclusive", "mig", "time-slicing", "mps", "share", "none".
std::string_view to_string(Mechanism mechanism);
// False: none of these.
bool parse_word(std::string_view word, std::optional<Mechanism>& mechanism);

// What one container has of one device, through all of its tranches there.
struct ContainerFigures {
  std::string ns;
  std::string pod;
  std::string container;
  std::string resource;  // "nvidia.com/gpu"; empty with kNone
  Mechanism mechanism = Mechanism::kExclusive;
  std::string tier{};       // of the GPUTier that serves it; empty: none
  std::string gpu;          // UUID
  std::string device;       // UUID: the GPU's, or a MIG instance's
  std::string mig_profile;  // empty: no MIG instance
  double gpus = 1;          // part of a physical GPU that it was given: 0.25 of four replicas
  // Whether its processes are told apart from others'. If not, what they use is unknown.
  bool attributed = false;
  std::optional<std::uint32_t> processes{};
  std::optional<std::uint64_t> memory_used{};
  std::optional<std::uint64_t> memory_peak{};  // largest memory_used since the agent started
  // Of a claim that several containers share: theirs together, as is `compute_promised`.
  std::optional<std::uint64_t> memory_limit{};  // nullopt: unlimited
  std::optional<double> compute_promised{};     // part of the device's time
  // GPU time charged by the arbiter, and estimated from the driver's samples; never both.
  std::optional<std::chrono::nanoseconds> compute{};
  std::optional<std::chrono::nanoseconds> compute_estimated{};
  std::optional<std::chrono::nanoseconds> compute_asked{};  // for which it launched work
  std::optional<std::chrono::nanoseconds> waited{};         // with a thread that waited for the GPU
  // Of `compute` or `compute_estimated`, and of `waited`: part of the last minute's time, or of the
  // time since the container was first seen, if that is less (but a second at least).
  std::optional<double> compute_share{};
  std::optional<double> waited_share{};
  std::optional<std::uint64_t> launches{};
  std::optional<std::uint64_t> allocation_failures{};
  bool operator==(const ContainerFigures&) const = default;
};

// Where a GPU's memory is. The parts that are known add up to `total`.
struct MemoryAccount {
  std::string gpu;  // UUID
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t reserved = 0;        // the driver's
  std::uint64_t containers = 0;      // of containers that are known
  std::uint64_t host_processes = 0;  // of processes that are in no Pod
  std::uint64_t unknown = 0;         // of processes whose container is not known
  std::uint64_t unattributed = 0;    // used, and no process's by the driver's list
  // NVML counted more for the processes than is used: they changed between two calls.
  std::uint64_t excess = 0;
  bool operator==(const MemoryAccount&) const = default;
};

// Tranches of one resource on this node.
struct TrancheCount {
  std::string resource;
  Mechanism mechanism = Mechanism::kExclusive;
  std::uint64_t advertised = 0;
  std::uint64_t allocated = 0;
  std::uint64_t withheld = 0;  // unhealthy, or held in another way
  bool operator==(const TrancheCount&) const = default;
};

// Whether a source of attribution works.
struct Check {
  std::string name;  // "host-processes", "control-groups", "pods", "kubelet", "driver", "arbiter"
  bool works = false;
  bool operator==(const Check&) const = default;
};

struct InstanceUsage {
  std::string uuid;                // "MIG-..."
  std::string profile;             // the driver's spelling: "1g.10gb+me"
  std::uint32_t gpu_instance = 0;  // NVML's id
  std::optional<std::uint64_t> memory{};
  // Place on the GPU, in memory slices; nullopt: unknown.
  std::optional<std::uint32_t> start{};
  std::optional<std::uint32_t> size{};
  bool operator==(const InstanceUsage&) const = default;
};

// One GPU. Readings that are too old to be shown are nullopt.
struct GpuUsage {
  std::uint32_t index = 0;  // NVML's
  std::string uuid;         // "GPU-..."
  std::string model;        // NVML's product name
  bool mig = false;         // MIG mode is on
  std::vector<InstanceUsage> instances{};
  // nullopt: memory or processes could not be read. `gpu` in it is `uuid`.
  std::optional<MemoryAccount> memory{};
  // Memory by the driver's own count, also where processes are not known.
  std::optional<std::uint64_t> memory_total{};
  std::optional<std::uint64_t> memory_used{};
  std::optional<double> utilization{};  // part of the sampled time with a kernel; none of a MIG GPU
  std::optional<double> temperature_c{};
  std::optional<double> power_w{};
  std::optional<std::uint64_t> last_xid{};  // since the agent started
  bool operator==(const GpuUsage&) const = default;
};

enum class ProcessOwner { kContainer, kHost, kUnknown };
// "container", "host", "unknown".
std::string_view to_string(ProcessOwner owner);
bool parse_word(std::string_view word, std::optional<ProcessOwner>& owner);

// One process on one device.
struct ProcessUsage {
  std::int64_t pid = 0;  // on the node
  std::string name{};    // of its program, as the kernel has it (15 bytes); empty: unknown
  std::string device;    // UUID
  ProcessOwner owner = ProcessOwner::kUnknown;
  std::string ns{};  // of its container; empty without
  std::string pod{};
  std::string container{};
  std::optional<std::uint64_t> memory{};
  std::optional<double> busy{};  // estimated from the driver's samples, over the last reading
  bool operator==(const ProcessUsage&) const = default;
};

struct NodeUsage {
  std::string node;                                // empty: unknown
  std::chrono::system_clock::time_point taken_at;  // whole milliseconds
  std::string agent;                               // its version: "0.1.0"
  std::string driver_version;
  std::vector<GpuUsage> gpus{};                // by index
  std::vector<ContainerFigures> containers{};  // by namespace, Pod, container, device, resource
  std::vector<ProcessUsage> processes{};       // by device and pid; those that hold or use a device
  std::vector<TrancheCount> tranches{};
  std::vector<Check> checks{};
  std::optional<std::chrono::nanoseconds> age{};  // of the readings at taken_at; nullopt: none yet
  bool operator==(const NodeUsage&) const = default;
};

// About as much memory as it takes.
std::size_t bytes_of(const NodeUsage& usage);

}  // namespace tranche::usage
