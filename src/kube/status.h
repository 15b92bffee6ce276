#pragma once
// The API server's refusals in our words: who asked for what, what it said, what to do. For 403 the
// RBAC rule that is missing.
// Source: metav1.Status of k8s.io/apimachinery; the texts of its RBAC authorizer.

#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/request.h"

namespace tranche::kube {

// `status`: HTTP's, of 400 or more; `body`: a Status, or whatever a proxy wrote. `who`: where the
// credentials come from.
Error refusal(const Request& request, long status, std::string_view body, std::string_view who);

}  // namespace tranche::kube
