#pragma once
// What a driver says of a device that a claim has: an entry of a ResourceClaim's status.devices
// (resource.k8s.io/v1). Kubernetes shows it and does nothing by it. From 1.36 on, a driver needs a
// right of its own to write it, which holds on its own node alone.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cluster/object.h"

namespace tranche::cluster {

struct DeviceStatus {
  std::string driver;
  std::string pool;
  std::string device;
  std::string share_id = {};  // a UUID; empty: the whole device
  // The condition Ready.
  bool ready = false;
  std::string reason;        // in CamelCase
  std::string message = {};  // for people
  std::string since = {};    // RFC 3339; since when `ready` is what it is
  // What the containers see and are held to, under `data`.
  std::string uuid = {};                   // "GPU-..." or "MIG-..."; empty: not known
  std::optional<Bytes> memory{};           // nullopt: no limit
  std::optional<std::uint32_t> percent{};  // of compute; nullopt: no limit
  bool operator==(const DeviceStatus&) const = default;
};

// The longest message that the API server takes.
inline constexpr std::size_t kLongestConditionMessage = 32768;

// For Objects::apply() on the subresource status: these are all entries of the applier. `uid` keeps
// it from another claim of that name.
std::string to_apply(const ObjectKey& claim, const std::string& uid,
                     const std::vector<DeviceStatus>& devices);
// The entries of `driver`, in their order. kInvalidArgument: the object cannot be read.
Result<std::vector<DeviceStatus>> parse_device_statuses(std::string_view claim,
                                                        std::string_view driver);

}  // namespace tranche::cluster
