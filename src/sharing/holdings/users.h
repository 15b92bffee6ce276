#pragma once
// Whose the holdings are, as the API server's Pods tell it. Kubelet names the containers of the
// device plugin, but not their Pods' uids, and it does not name those of claims to everybody: older
// kubelets leave claims out of pod-resources. What a Pod and its status say is the same on all.
// Pure.

#include <span>

#include "cluster/pod.h"
#include "holdings/holdings.h"

namespace tranche::holdings {

// The same holdings with the uids of their Pods, and of claims one for each container that uses the
// request; a claim that no container of `pods` uses stays as it is. `pods`: those of the node. Pods
// that have ended use nothing.
Holdings with_users(const Holdings& known, std::span<const cluster::Pod> pods);

}  // namespace tranche::holdings
