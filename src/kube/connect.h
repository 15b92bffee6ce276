#pragma once
// The API server that a program is told of: by a kubeconfig file, else by what Kubernetes puts into
// every Pod.

#include <map>
#include <memory>
#include <string>

#include "base/api_server.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "kube/credentials.h"

namespace tranche::kube {

// `environment`: for KUBERNETES_SERVICE_HOST and _PORT. kFailedPrecondition: there is neither a
// kubeconfig nor a service account; kInvalidArgument: a context without a kubeconfig, and what
// load_kubeconfig refuses.
Result<Credentials> find_credentials(const ApiServer& server,
                                     const std::map<std::string, std::string>& environment);

// By these. `log` outlives what is returned. Does not connect yet.
Result<std::unique_ptr<cluster::Objects>> connect(
    const ApiServer& server, const std::map<std::string, std::string>& environment,
    const std::string& user_agent, const Log& log);

}  // namespace tranche::kube
