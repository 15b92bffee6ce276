#pragma once
// Connects a program to its API server: the one of a kubeconfig file, else the one of the Pod that
// the program runs in.

#include <map>
#include <memory>
#include <string>

#include "base/api_server.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "kube/credentials.h"

namespace tranche::kube {

// `environment`: has KUBERNETES_SERVICE_HOST and _PORT in a Pod. kFailedPrecondition: there is
// neither a kubeconfig nor a service account. kInvalidArgument: a context without a kubeconfig, or
// a kubeconfig that load_kubeconfig refuses.
Result<Credentials> find_credentials(const ApiServer& server,
                                     const std::map<std::string, std::string>& environment);

// A client with the credentials that find_credentials finds. `log` must outlive it. Does not
// connect yet.
Result<std::unique_ptr<cluster::Objects>> connect(
    const ApiServer& server, const std::map<std::string, std::string>& environment,
    const std::string& user_agent, const Log& log);

}  // namespace tranche::kube
