#pragma once
// Turns a refusal of the API server into an Error: which identity requested what, the server's
// message, and what to do. For 403 the hint is the missing RBAC rule.
// Source: metav1.Status of k8s.io/apimachinery; the texts of Kubernetes' RBAC authorizer.

#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/request.h"

namespace tranche::kube {

// `status`: HTTP's, 400 or more. `body`: a metav1.Status, or any text of a proxy. `who`: the origin
// of the credentials.
Error refusal(const Request& request, long status, std::string_view body, std::string_view who);

}  // namespace tranche::kube
