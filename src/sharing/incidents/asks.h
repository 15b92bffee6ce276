#pragma once
// incident-asks/v1: the agent hears of XIDs, the arbiter has the flight recorder. The agent asks by
// a file in the tenants' folder, which the arbiter watches, and the arbiter answers with an
// incident of that id in its own folder. Either may restart meanwhile. One JSON object:
//
//   {"asks":{"list":[...]},"checksum":"<FNV-1a, 64 bits, hex>","version":"incident-asks/v1"}

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/time.h"

namespace tranche::incidents {

struct Ask {
  std::string id;                    // of the incident, is_id()
  std::string gpu;                   // UUID
  std::vector<std::string> devices;  // itself and its MIG instances
  std::uint64_t xid = 0;
  cluster::WallTime at{};
  bool operator==(const Ask&) const = default;
};

// In the tenants' folder; its name is not one of a tenant's file.
inline constexpr const char* kAsksFile = "incidents.asked";
inline constexpr std::size_t kMostAsks = 16;
inline constexpr std::size_t kLongestAsks = std::size_t{64} << 10U;

std::string encode(const std::vector<Ask>& asks);
// kInvalidArgument: not incident-asks/v1, torn, edited, or a value out of range.
Result<std::vector<Ask>> decode_asks(std::string_view text);

}  // namespace tranche::incidents
