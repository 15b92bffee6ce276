#pragma once
// What Kubernetes' objects tell of the cluster's GPUs, reduced to what make_fleet() reads
// (make_fleet.h). Of tenants' objects nothing is trusted: counts are bounded, and texts are kept as
// written.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dra_driver.h"
#include "cluster/formats/gpu_node.h"
#include "cluster/formats/gpu_tier.h"
#include "cluster/metadata.h"
#include "cluster/node.h"
#include "cluster/object.h"
#include "cluster/time.h"
#include "fleet/fleet.h"
#include "usage/node_usage.h"

namespace tranche::fleet {

struct Toleration {
  std::string key;
  std::string op;  // "Equal" (or empty), "Exists"
  std::string value;
  std::string effect;  // empty: all
  bool operator==(const Toleration&) const = default;
};

// How many of a resource kubelet counts on a node.
struct NodeCount {
  std::uint64_t capacity = 0;
  std::uint64_t allocatable = 0;
  bool operator==(const NodeCount&) const = default;
};

struct NodeFacts {
  std::string name;
  cluster::StringMap labels{};
  std::vector<cluster::Taint> taints{};  // those that keep Pods off
  bool cordoned = false;
  std::optional<bool> ready{};                   // nullopt: kubelet does not say
  std::string not_serving{};                     // why our agent does not serve; empty: it does
  std::map<std::string, NodeCount> resources{};  // of GPUs
  bool operator==(const NodeFacts&) const = default;
};

// A Pod that asks for a GPU.
struct PodFacts {
  cluster::ObjectKey key;
  cluster::WallTime created{};
  std::string node{};                            // it is bound to; empty: none
  std::string phase{};                           // "Pending", "Running", ...
  std::string reason{};                          // status.reason: "TopologyAffinityError"
  std::string message{};                         // status.message
  std::map<std::string, std::uint64_t> wants{};  // resources of GPUs that the scheduler counts
  // Claims in the Pod's namespace; one without a name has not been made.
  std::vector<std::string> claims{};
  std::vector<std::string> gates{};  // spec.schedulingGates
  // From the condition PodScheduled, while it is False.
  std::string unscheduled_reason{};  // "Unschedulable", "SchedulerError", "SchedulingGated"
  std::string unscheduled_message{};
  std::string starting{};  // what a container waits for: "ImagePullBackOff: ..."
  cluster::StringMap node_selector{};
  std::vector<Toleration> tolerations{};
  std::string priority_class{};
  bool operator==(const PodFacts&) const = default;
};

struct ClaimFacts {
  bool allocated = false;
  std::vector<Wish> wants{};  // devices by DeviceClass, also of classes that are not of GPUs
  bool operator==(const ClaimFacts&) const = default;
};

struct Facts {
  std::string cluster{};
  std::string driver{kDefaultDraDriver};  // of claims' devices
  std::map<std::string, NodeFacts> nodes{};
  std::map<std::string, cluster::GpuNode> gpu_nodes{};
  std::map<cluster::ObjectKey, PodFacts> pods{};  // that ask for GPUs, or have claims
  std::map<cluster::ObjectKey, ClaimFacts> claims{};
  // DeviceClasses of our driver, and what a device of them is: a MIG instance, or a GPU that claims
  // may share.
  std::map<std::string, usage::Mechanism> classes{};
  std::map<std::string, cluster::GpuTier> tiers{};
  std::map<std::string, cluster::StringMap> namespaces{};  // with their labels
};

}  // namespace tranche::fleet
