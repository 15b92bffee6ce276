#pragma once
// What a change of a node's MIG layout means for the Pods of the cluster, before it is done. Pure:
// from the API server's objects and the change, as the agent announces it.
//
// A Pod that must end "moves" when another node has place for what it asks for. Looked at are
// readiness and cordon of nodes, which nodes take the Pod (mig/node_filter.h), and extended
// resources that are free. Not looked at are processors, memory, affinity to Pods, topology spread,
// quotas and resource claims: the scheduler may find less than is said here.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/mig_change.h"
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
    kMoves,    // `node` has place for the one that is made in its stead
    kReturns,  // no other node has place; this one has it after the change
    kPends,    // nowhere is place for it
    kGone,     // nothing makes it anew: it has no controller
    kStays,    // kubelet runs it from a file: it cannot be evicted
  };
  std::string name;  // "shop/web"
  std::map<std::string, std::int64_t> asks;
  Fate fate = Fate::kPends;
  std::string node = {};
  std::string why = {};  // it ends although it holds no device that changes
  bool operator==(const EndingPod&) const = default;
};

// A Pod that is not bound to a node yet.
struct WaitingPod {
  std::string name;
  std::string resource;  // that it asks for
  bool arrives = false;  // more of it is offered after the change; else less
  bool operator==(const WaitingPod&) const = default;
};

struct Announcement {
  std::string node;
  std::string layout;
  std::vector<ResourceChange> resources;  // those that change
  std::vector<EndingPod> pods;            // those of the change that the API server knows
  std::vector<WaitingPod> waiting;
  // Resources of which nothing is left here, and that no other Ready node that takes Pods offers.
  std::vector<std::string> outages;
  bool operator==(const Announcement&) const = default;
};

// `nodes` and `pods`: of the whole cluster, the node's own included.
Announcement announce(const cluster::MigChange& change, const std::string& node,
                      const std::vector<cluster::Node>& nodes,
                      const std::vector<cluster::SnapshotPod>& pods);

// "default/a (nvidia.com/gpu: 1)": Pods that find no place on another node.
std::vector<std::string> find_no_place(const Announcement& announcement);

// Whether the API server still has the Node offer more of a resource than the change, which has
// finished, left of it. Kubelet tells every ten seconds; until then the scheduler binds Pods to
// what has gone, and kubelet refuses each.
bool offers_what_left(const cluster::MigChange& change, const cluster::Node& node);

// On one line, at most 1000 bytes: for the log, an Event and the annotation.
std::string summary(const Announcement& announcement);
// For people, several lines.
std::string describe(const Announcement& announcement);

}  // namespace tranche::mig
