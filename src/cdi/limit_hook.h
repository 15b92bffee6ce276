#pragma once
// The CDI specification by which a limited container gets the runtime's hook (hook/): its kind and
// one device, which has no edits but the hook. Pure.

#include <string>
#include <string_view>

#include "cdi/make_specs.h"

namespace tranche::cdi {

inline constexpr std::string_view kHookKind = "tranche.dev/limits";
inline constexpr std::string_view kHookSpecFile = "tranche.dev-limits.json";

// `program` and `tenants`: on the host. The device is offer::kHookDevice.
SpecFile limit_hook_spec(const std::string& program, const std::string& tenants);

}  // namespace tranche::cdi
