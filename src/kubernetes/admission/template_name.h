#pragma once
// The name of the ResourceClaimTemplate for one share, or for several on one GPU. It encodes the
// shares and nothing else, so Pods with the same shares use the same template, a Pod's shares are
// visible in it, and no table is needed.
//
//     tranche-gpu-50                    half of a GPU
//     tranche-gpu-12gi-50               12Gi of memory and 50 % of compute
//     tranche-gpu-together-50-25        a half and a quarter of the same GPU, in this order
//
// Memory is in Gi if whole, else in Mi. A name for one share is a DNS label, one for several a DNS
// subdomain, of at most 253 characters. Names are never cut or hashed: two lists of shares must
// never have the same name.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/share.h"
#include "base/result.h"

namespace tranche::admission {

// kInvalidArgument: too many shares for a name. `shares` is not empty.
Result<std::string> template_name(const std::vector<Share>& shares);

// nullopt: template_name() does not give this name.
std::optional<std::vector<Share>> parse_template_name(std::string_view name);

}  // namespace tranche::admission
