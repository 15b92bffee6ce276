#pragma once
// Readings over HTTP: usage/v1 of an agent, fleet/v1 of the controller.

#include <memory>
#include <string>

#include "base/controller_service.h"
#include "base/result.h"
#include "kube/credentials.h"
#include "kube/http_get.h"
#include "top/source/source.h"

namespace tranche::top {

// `server`: a URL, and what of Credentials an agent needs. Does not connect.
Result<std::unique_ptr<Source>> open_agent(kube::Credentials server);
Result<std::unique_ptr<Source>> open_controller(kube::Credentials server);
// Through the API server `cluster`. `token`: for the controller; empty: the cluster's own.
Result<std::unique_ptr<Source>> open_service(kube::Credentials cluster,
                                             const ControllerService& service, kube::Secret token);

}  // namespace tranche::top
