#pragma once
// Finds the Pods of holdings in the API server's Pods. Kubelet names the containers of the device
// plugin, but without their Pods' uids, and older kubelets omit claims in pod-resources. Pods and
// their status are the same with every kubelet. Pure.

#include <span>

#include "cluster/pod.h"
#include "holdings/holdings.h"

namespace tranche::holdings {

// The same holdings with their Pods' uids, and for a claim one holding for each container that uses
// the request; a claim that no container of `pods` uses stays as it is. `pods`: those of the node.
// Ended Pods use nothing.
Holdings with_users(const Holdings& known, std::span<const cluster::Pod> pods);

}  // namespace tranche::holdings
