#pragma once
// Whether containers can be limited on this node, as LimitInput found it last.

#include <optional>
#include <string>

#include "offer/limit_mounts.h"

namespace tranche::agent {

// Only filled where a resource is offered with limits.
struct LimitStanding {
  // nullopt: containers cannot be limited, or need not be.
  std::optional<offer::LimitMounts> mounts;
  std::string trouble;  // why containers cannot be limited; empty: they can
  // Why the runtime's hook is missing; empty: it is there, or not needed.
  std::string hook_trouble;
  bool operator==(const LimitStanding&) const = default;
};

}  // namespace tranche::agent
