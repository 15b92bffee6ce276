#pragma once
// The cluster of a command (kube/choose_cluster.h), from its flags.

#include <algorithm>

#include "base/api_server.h"
#include "base/result.h"
#include "config/flags/sources.h"
#include "kube/choose_cluster.h"
#include "kube/credentials.h"

namespace tranche::cli {

using kube::choose_cluster;

// From a command's flags and environment.
inline Result<kube::Credentials> choose_cluster(const ApiServer& asked,
                                                const config::Sources& sources) {
  const bool by_flag = std::ranges::any_of(
      sources.flags, [](const config::FlagValue& flag) { return flag.name == "kubeconfig"; });
  return kube::choose_cluster(asked, by_flag, sources.environment);
}

}  // namespace tranche::cli
