#pragma once
// What kubelet and the node say, at one moment, about who holds devices. A grant is over when they
// agree that nobody does.
//
// One answer of pod-resources is not enough. A kubelet that starts while its API server is away
// knows no Pods and lists nothing, though containers run and it will start others again with the
// answers of Allocate that it keeps. Its checkpoint names these, until kubelet has heard of its
// Pods from every source (devicemanager's UpdateAllocatedDevices). And what a living container has
// is in use, whatever kubelet says.

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cluster/pod_resources.h"

namespace tranche::agent {

// Two answers that are this far apart must agree, unless --grants-interval says otherwise.
inline constexpr std::chrono::seconds kAgree{20};

struct Holders {
  // Pod-resources' answer.
  std::vector<cluster::HeldDevices> listed;
  // What kubelet's checkpoint names. An error: it is not known, so nothing is over.
  Result<std::vector<cluster::HeldDevices>> remembered;
  // The tenants that a living process belongs to, by its mounts or by the arbiter. Called only when
  // something would go. An error: it is not known. Empty: nothing can live.
  std::function<Result<std::set<std::string>>()> living = {};
  // Two answers that are at least this far apart must agree.
  std::chrono::milliseconds agree = kAgree;
};

// (resource, id)
using HeldIds = std::set<std::pair<std::string, std::string>>;
HeldIds ids_of(const std::vector<cluster::HeldDevices>& held);

}  // namespace tranche::agent
