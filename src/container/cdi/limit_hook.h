#pragma once
// The CDI specification that gives a limited container the runtime's hook (hook/): a kind with one
// device, whose only edit is the hook. Pure.

#include <string>
#include <string_view>

#include "cdi/make_specs.h"
#include "cdi/spec.h"

namespace tranche::cdi {

inline constexpr std::string_view kHookKind = "tranche.dev/limits";
inline constexpr std::string_view kHookSpecFile = "tranche.dev-limits.json";

// The hook itself. `program` and `tenants` are paths on the host.
Hook limit_hook(const std::string& program, const std::string& tenants);
// The device is offer::kHookDevice.
SpecFile limit_hook_spec(const std::string& program, const std::string& tenants);

}  // namespace tranche::cdi
