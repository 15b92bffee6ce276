#pragma once
// The API server that a user names (--kubeconfig, --context). kube/connect.h connects to it.

#include <string>

namespace tranche {

struct ApiServer {
  std::string kubeconfig{};  // file; "": the Pod's service account
  std::string context{};     // a context of that file; "": its current-context
  bool operator==(const ApiServer&) const = default;
};

}  // namespace tranche
