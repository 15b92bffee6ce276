#pragma once
// Which API server a program is told of (--kubeconfig, --context). Who connects: kube/connect.h.

#include <string>

namespace tranche {

struct ApiServer {
  std::string kubeconfig{};  // file; "": the Pod's service account
  std::string context{};     // of that file; "": its current-context
  bool operator==(const ApiServer&) const = default;
};

}  // namespace tranche
