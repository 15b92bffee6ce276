#pragma once
// The ResourceClaimTemplate (resource.k8s.io/v1) of a Pod's share of a GPU. Pure.
//
// Memory capacity is in bytes, so half of a GPU is a different amount on each model. The template
// has one subrequest for each model of the fleet, and the scheduler takes the first that fits. A
// share in bytes is the same on every model: one subrequest, without a selector. It is
// firstAvailable even then, so that the request's form, and "gpu/l20" in the claim's status, do not
// change when a model joins.
//
//     requests:
//     - name: gpu
//       firstAvailable:
//       - name: l20
//         deviceClassName: gpu-share
//         selectors: [{cel: {expression: device.attributes['gpu.nvidia.com'].productName == ...}}]
//         capacity: {requests: {memory: 23034Mi, compute: "50"}}
//
// Several shares on one GPU are one claim with a request for each ("gpu-0", "gpu-1", ...) and a
// constraint that all devices have the same uuid.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "admission/fleet.h"
#include "admission/share.h"
#include "base/dra_driver.h"
#include "base/result.h"

namespace tranche::admission {

// Kubernetes' limit of subrequests in one request.
inline constexpr std::size_t kMostModels = 8;

struct ClaimOptions {
  std::string driver{kDefaultDraDriver};   // whose attributes selectors read
  std::string device_class = "gpu-share";  // of the GPUs that give shares
};

struct ClaimTemplate {
  std::string name;  // template_name()
  std::string json;  // without a namespace: it is the Pod's
  bool operator==(const ClaimTemplate&) const = default;
};

// `shares`: one, or several that must be on one GPU; not empty.
//     kInvalidArgument     together more than one GPU, or too many for a name
//     kFailedPrecondition  no model of the fleet can give them; or more than kMostModels
Result<ClaimTemplate> claim_template(const std::vector<Share>& shares, const Fleet& fleet,
                                     const ClaimOptions& options);

// The request of the claim that is share number `index` of `count`: "gpu", "gpu-1".
std::string request_name(std::size_t index, std::size_t count);

// The CEL expression with which a subrequest selects the model. kInvalidArgument: a name is not
// UTF-8.
Result<std::string> model_expression(const DraModel& model, const ClaimOptions& options);

// `text` as a CEL string. kInvalidArgument: it is not UTF-8.
Result<std::string> cel_string(std::string_view text);

// A DNS label for the product: "NVIDIA L20" -> "l20", "Tesla T4" -> "t4". Never empty.
std::string product_label(std::string_view product);

}  // namespace tranche::admission
