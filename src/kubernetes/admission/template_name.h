#pragma once
// The name of the ResourceClaimTemplate for one share, or for several on one GPU. It is a function
// of the shares alone, and the shares can be read back from it. So Pods that ask the same use the
// same template, whoever looks at a Pod knows what it got, and no table has to be kept.
//
//     tranche-gpu-50                    half of a GPU
//     tranche-gpu-12gi-50               12Gi of memory and 50 % of compute
//     tranche-gpu-together-50-25        a half and a quarter of the same GPU, in this order
//
// Memory is written in Gi where it is a whole number of them, else in Mi. A name for one share is a
// DNS label. One for several is a DNS subdomain, of at most 253 letters: no name is cut or hashed,
// because two lists of shares must never have the same.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/share.h"
#include "base/result.h"

namespace tranche::admission {

// kInvalidArgument: so many shares have no name. `shares` is not empty.
Result<std::string> template_name(const std::vector<Share>& shares);

// nullopt: the name is none that template_name() gives.
std::optional<std::vector<Share>> parse_template_name(std::string_view name);

}  // namespace tranche::admission
