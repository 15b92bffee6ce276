#pragma once
// What kubelet and the node report, at one moment, about who holds devices. A grant is over when
// they agree that nobody does.
//
// One answer of pod-resources is not enough. A kubelet that starts while its API server is away
// lists no Pods, though containers run and it will restart others with its stored answers of
// Allocate. Its checkpoint names these until it has its Pods from every source (devicemanager's
// UpdateAllocatedDevices). And what a living container has is in use in any case.

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cluster/pod_resources.h"

namespace tranche::agent {

// Minimum time between two answers that must agree, unless --grants-interval says otherwise.
inline constexpr std::chrono::seconds kAgree{20};

struct Holders {
  std::vector<cluster::HeldDevices> listed;
  // From kubelet's checkpoint. An error: unknown, so nothing is over.
  Result<std::vector<cluster::HeldDevices>> remembered;
  // Tenants with a living process, by its mounts or by the arbiter. Called only when something
  // would go. An error: unknown. Empty: nothing can live.
  std::function<Result<std::set<std::string>>()> living = {};
  std::chrono::milliseconds agree = kAgree;
};

using HeldIds = std::set<std::pair<std::string, std::string>>;
HeldIds ids_of(const std::vector<cluster::HeldDevices>& held);

}  // namespace tranche::agent
