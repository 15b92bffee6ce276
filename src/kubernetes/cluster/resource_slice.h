#pragma once
// A ResourceSlice (resource.k8s.io/v1): a part of a pool of devices that one driver publishes for
// one node. It is written, and read back to see which fields the API server kept: it silently drops
// the fields of disabled feature gates. Fields that we never write (node selectors, binding
// conditions, valid values) are not read.
//
// Amounts are whole numbers: bytes of memory, percent, or a count. They are written as quantities
// in binary units ("46068Mi"), and compared by value.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cluster/metadata.h"

namespace tranche::cluster {

struct SemanticVersion {
  std::string text;  // "12.8.0": three numbers
  bool operator==(const SemanticVersion&) const = default;
};
using DeviceAttribute = std::variant<std::string, std::int64_t, bool, SemanticVersion>;

// How much of a capacity one claim may take of a shareable device. A request is rounded up to
// `min`, and to `min` plus a multiple of `step`.
struct CapacityPolicy {
  std::uint64_t otherwise = 0;  // what a claim takes if it names no amount
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint64_t step = 1;
  bool operator==(const CapacityPolicy&) const = default;
};

struct DeviceCapacity {
  std::uint64_t value = 0;
  std::optional<CapacityPolicy> policy = {};
  bool operator==(const DeviceCapacity&) const = default;
};

using Counters = std::map<std::string, std::uint64_t>;

// Counters that devices of a pool consume. A device can be allocated while every counter has what
// it needs.
struct CounterSet {
  std::string name;
  Counters counters;
  bool operator==(const CounterSet&) const = default;
};

struct DeviceTaint {
  std::string key;
  std::string value = {};
  std::string effect;  // "NoSchedule", "NoExecute"
  // RFC 3339; the API server sets it if empty.
  std::string since = {};
  bool operator==(const DeviceTaint&) const = default;
};

struct SliceDevice {
  std::string name;  // a DNS label
  std::map<std::string, DeviceAttribute> attributes = {};
  std::map<std::string, DeviceCapacity> capacity = {};
  std::vector<CounterSet> consumes = {};  // amounts consumed from the set `name`
  std::vector<DeviceTaint> taints = {};
  bool shareable = false;  // allowMultipleAllocations
  bool operator==(const SliceDevice&) const = default;
};

struct ResourcePool {
  std::string name;
  std::int64_t generation = 0;
  std::int64_t slices = 1;  // of this generation
  bool operator==(const ResourcePool&) const = default;
};

// Contains counter sets or devices, never both.
struct ResourceSlice {
  std::string name;
  std::string uid = {};
  std::string resource_version = {};
  std::vector<OwnerReference> owners = {};
  std::string driver;
  std::string node;
  ResourcePool pool;
  std::vector<CounterSet> counters = {};
  std::vector<SliceDevice> devices = {};
  bool operator==(const ResourceSlice&) const = default;
};

Result<ResourceSlice> parse_resource_slice(std::string_view json);
// For create and update: uid and resource_version only if set.
std::string to_json(const ResourceSlice& slice);

// Limits of the API server (resource.k8s.io/v1, 1.36).
inline constexpr std::size_t kDevicesPerSlice = 128;
// If any device has taints or consumes counters.
inline constexpr std::size_t kDetailedDevicesPerSlice = 64;
inline constexpr std::size_t kCounterSetsPerSlice = 8;
inline constexpr std::size_t kCountersPerSet = 32;
inline constexpr std::size_t kAttributesPerDevice = 32;  // attributes and capacities together
inline constexpr std::size_t kLongestAttribute = 64;     // bytes of a text or version

}  // namespace tranche::cluster
