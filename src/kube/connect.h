#pragma once
// The API server that a program is told of: by a kubeconfig file, else by what Kubernetes puts into
// every Pod.

#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::kube {

// `kubeconfig`: --kubeconfig, empty for the Pod's service account. `environment`: for
// KUBERNETES_SERVICE_HOST and _PORT. `log` outlives what is returned. Does not connect yet.
// kFailedPrecondition: neither is there.
Result<std::unique_ptr<cluster::Objects>> connect(
    const std::string& kubeconfig, const std::map<std::string, std::string>& environment,
    const std::string& user_agent, const Log& log);

}  // namespace tranche::kube
