#pragma once
// A driver's report on an allocated device of a claim: an entry of a ResourceClaim's status.devices
// (resource.k8s.io/v1). Kubernetes displays it and does not act on it. From 1.36 on, a driver needs
// a separate permission to write it, which is valid only for its own node.

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
  std::string since = {};    // RFC 3339; when `ready` last changed
  // What the containers see and their limits, under `data`.
  std::string uuid = {};                   // "GPU-..." or "MIG-..."; empty: unknown
  std::optional<Bytes> memory{};           // nullopt: no limit
  std::optional<std::uint32_t> percent{};  // of compute; nullopt: no limit
  bool operator==(const DeviceStatus&) const = default;
};

// The longest message that the API server accepts.
inline constexpr std::size_t kLongestConditionMessage = 32768;

// For Objects::apply() on the subresource status: these are all entries of the applier. `uid`
// protects a different claim with the same name.
std::string to_apply(const ObjectKey& claim, const std::string& uid,
                     const std::vector<DeviceStatus>& devices);
// The entries of `driver`, in order. kInvalidArgument: the object cannot be read.
Result<std::vector<DeviceStatus>> parse_device_statuses(std::string_view claim,
                                                        std::string_view driver);

}  // namespace tranche::cluster
