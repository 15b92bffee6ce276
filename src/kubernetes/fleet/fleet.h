#pragma once
// All GPUs of a cluster at one moment, as a value: who uses what, how much is free of each kind,
// and which Pods wait and why. The controller's metrics, its web page, `tranche top` and `tranche
// report` say the same, for they say it of this. Its form as JSON is fleet/v1.
//
// What nodes' agents measure is usage::NodeUsage; what Kubernetes knows (GPUNodes, Nodes, Pods,
// claims) gives the rest.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "usage/node_usage.h"

namespace tranche::fleet {

// Whether a node's agent says who uses what.
enum class Reporting {
  kFresh,
  kStale,   // it did not answer the last times; its last figures are shown with their age
  kSilent,  // it never answered; what is shown comes from its GPUNode
};
// "fresh", "stale", "silent".
std::string_view to_string(Reporting reporting);
bool parse_word(std::string_view word, std::optional<Reporting>& reporting);

struct FleetNode {
  std::string name;
  Reporting reporting = Reporting::kSilent;
  // Why it does not report, or what of its report is left out, for people; empty: neither.
  std::string why{};
  // Why the node serves no GPU to new Pods ("cordoned", "not ready", ...); empty: it does.
  std::string closed{};
  // Without processes. Of a silent node: GPUs and containers as its GPUNode has them, not
  // attributed.
  usage::NodeUsage usage;
  bool operator==(const FleetNode&) const = default;
};

// One kind of tranche in the cluster: of a resource (device plugin), or devices that claims take. A
// device counts as allocated once a claim has a part of it.
struct Capacity {
  std::string resource;  // "nvidia.com/gpu.shared"; of claims the driver: "gpu.nvidia.com"
  usage::Mechanism mechanism = usage::Mechanism::kExclusive;
  std::string tier{};  // the GPUTier whose GPUs they are; empty: none
  std::uint64_t advertised = 0;
  std::uint64_t allocated = 0;  // to Pods that are bound and have not ended
  std::uint64_t withheld = 0;   // unhealthy, or held in another way, and not allocated
  std::uint64_t free = 0;       // what a new Pod can have now; on closed nodes 0
  std::uint64_t pending = 0;    // asked for by Pods that wait
  bool operator==(const Capacity&) const = default;
};

// What one namespace has of it. A device that claims of several namespaces share counts in each.
struct NamespaceUse {
  std::string ns;
  std::string resource;
  std::string tier{};
  std::uint64_t allocated = 0;
  std::uint64_t pending = 0;
  bool operator==(const NamespaceUse&) const = default;
};

// Why a Pod that asks for a GPU does not run, as far as its conditions and Events tell. (`tranche
// explain pod` replays the scheduler's decision and knows better.)
enum class Cause {
  kNotEnough,       // no node has as many free
  kNoSuchResource,  // no node advertises what it asks for
  kTaint,           // nodes that have it keep it off, by a taint or a cordon
  kAffinity,        // its selector, affinity or spread excludes them
  kOtherResource,   // CPU, memory, Pods, ports or volumes are short on nodes that have it
  kQuota,           // the namespace's quota
  kClaim,           // a claim is missing, is being made, or cannot be allocated
  kGate,            // a scheduling gate: something else holds it on purpose
  kTopology,        // kubelet's topology manager rejected it
  kAdmission,       // kubelet rejected it for another reason
  kStarting,        // it is bound and starts: images, volumes
  kUnknown,         // nobody has said
};
// "not-enough", "no-such-resource", "taint", ...
std::string_view to_string(Cause cause);
bool parse_word(std::string_view word, std::optional<Cause>& cause);

struct Wish {
  std::string resource;  // of claims the DeviceClass
  std::uint64_t count = 0;
  bool operator==(const Wish&) const = default;
};

struct WaitingPod {
  std::string ns;
  std::string pod;
  std::chrono::system_clock::time_point since;  // it was made; whole seconds
  std::vector<Wish> wants{};                    // of GPUs; by resource
  std::string tier{};
  Cause cause = Cause::kUnknown;
  std::string message{};  // the scheduler's, or kubelet's; at most 1024 bytes
  std::string node{};     // it is bound to; empty: none
  bool operator==(const WaitingPod&) const = default;
};

struct Fleet {
  std::string cluster{};                           // its name; empty: not told
  std::chrono::system_clock::time_point taken_at;  // whole milliseconds
  std::vector<FleetNode> nodes{};                  // by name
  std::vector<Capacity> capacity{};                // by mechanism, resource, tier
  std::vector<NamespaceUse> namespaces{};          // by namespace, resource, tier
  std::vector<WaitingPod> waiting{};               // the oldest first
  bool operator==(const Fleet&) const = default;
};

}  // namespace tranche::fleet
