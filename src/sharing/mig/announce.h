#pragma once
// The effects of a node's MIG layout change on the Pods of the cluster, computed beforehand. Pure:
// from the API server's objects and the change as announced by the agent.
//
// A Pod that must end "moves" if another node has room for its request. Considered are readiness
// and cordon of nodes, which nodes accept the Pod (mig/node_filter.h), and free extended resources.
// Not considered are CPUs, memory, affinity to Pods, topology spread, quotas and ResourceClaims:
// the scheduler may find less room than reported here.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/formats/mig_change.h"
#include "cluster/node.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::mig {

struct ResourceChange {
  std::string resource;
  std::int64_t before = 0;  // allocatable of the node
  std::int64_t after = 0;
  bool operator==(const ResourceChange&) const = default;
};

// A Pod that holds a device that leaves service.
struct EndingPod {
  enum class Fate {
    kMoves,    // `node` has room for its replacement
    kReturns,  // no other node has room; this one has it after the change
    kPends,    // no node has room for it
    kGone,     // it is not recreated: it has no controller
    kStays,    // kubelet runs it from a file (static Pod): it cannot be evicted
  };
  std::string name;  // "shop/web"
  std::map<std::string, std::int64_t> asks;
  Fate fate = Fate::kPends;
  std::string node = {};
  std::string why = {};  // why it ends although it holds no changing device
  bool operator==(const EndingPod&) const = default;
};

// A Pod that is not bound to a node yet.
struct WaitingPod {
  std::string name;
  std::string resource;  // that it requests
  bool arrives = false;  // the change adds to the resource; else it removes from it
  bool operator==(const WaitingPod&) const = default;
};

struct Announcement {
  std::string node;
  std::string layout;
  std::vector<ResourceChange> resources;  // the resources that change
  std::vector<EndingPod> pods;            // those Pods of the change that the API server knows
  std::vector<WaitingPod> waiting;
  // Resources of which nothing is left here and that no other schedulable Ready node offers.
  std::vector<std::string> outages;
  bool operator==(const Announcement&) const = default;
};

// `nodes` and `pods`: those of the whole cluster, including the node's own.
Announcement announce(const cluster::MigChange& change, const std::string& node,
                      const std::vector<cluster::Node>& nodes,
                      const std::vector<cluster::SnapshotPod>& pods);

// "default/a (nvidia.com/gpu: 1)": Pods for which no other node has room.
std::vector<std::string> find_no_place(const Announcement& announcement);

// Whether the API server still shows the Node offering more of a resource than the finished change
// left of it. Kubelet reports every ten seconds; until then the scheduler binds Pods to the removed
// devices, and kubelet refuses each.
bool offers_what_left(const cluster::MigChange& change, const cluster::Node& node);

// On one line, at most 1000 bytes: for the log, an Event and the annotation.
std::string summary(const Announcement& announcement);
// For people, several lines.
std::string describe(const Announcement& announcement);

}  // namespace tranche::mig
