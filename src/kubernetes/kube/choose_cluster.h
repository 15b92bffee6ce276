#pragma once
// Chooses the cluster for a command as kubectl does: the file of --kubeconfig; else the existing
// files of KUBECONFIG; else ~/.kube/config; else the service account of the Pod that the command
// runs in. In a Pod the account comes before ~/.kube/config, unless a context is named.

#include <map>
#include <string>

#include "base/api_server.h"
#include "base/result.h"
#include "kube/credentials.h"

namespace tranche::kube {

// `asked`: from the flags and KUBECONFIG. `by_flag`: --kubeconfig is given. kFailedPrecondition:
// none of these exists; the message names the places. kInvalidArgument: a named file or context is
// unusable.
Result<Credentials> choose_cluster(const ApiServer& asked, bool by_flag,
                                   const std::map<std::string, std::string>& environment);

}  // namespace tranche::kube
