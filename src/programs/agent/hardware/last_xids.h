#pragma once
// The last XID of each GPU since the agent started, also of those that do not make it unhealthy.

#include <cstdint>
#include <map>
#include <string>

namespace tranche::agent {

struct LastXids {
  std::map<std::string, std::uint64_t> by_gpu;  // by UUID
  bool operator==(const LastXids&) const = default;
};

}  // namespace tranche::agent
