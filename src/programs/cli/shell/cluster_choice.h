#pragma once
// Which cluster a command of an operator talks to, chosen as kubectl does: the file of
// --kubeconfig; else the files of KUBECONFIG that exist; else ~/.kube/config; else the service
// account of the Pod that the command runs in. In a Pod the account comes before ~/.kube/config,
// unless a context is named.

#include <map>
#include <string>

#include "base/api_server.h"
#include "base/result.h"
#include "config/flags/sources.h"
#include "kube/credentials.h"

namespace tranche::cli {

// `asked`: of the flags and KUBECONFIG. `by_flag`: --kubeconfig is given. kFailedPrecondition:
// there is none of these, and the message says where it was looked for. kInvalidArgument: a file or
// context that is named cannot be used.
Result<kube::Credentials> choose_cluster(const ApiServer& asked, bool by_flag,
                                         const std::map<std::string, std::string>& environment);
// With the flags and the environment of a command.
Result<kube::Credentials> choose_cluster(const ApiServer& asked, const config::Sources& sources);

}  // namespace tranche::cli
