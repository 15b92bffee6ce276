#pragma once
// What a container may have of the devices it was granted, in values: made from the configuration
// by offer/, stored with the grant, written for the arbiter by the agent (limits/v1) and kept by
// the arbiter. Sizes are bytes; parts of a device's time are thousandths of it (permille).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "values/enforcement.h"

namespace tranche {

// What keeps the memory of a device's tranches apart, from the highest to the lowest. The limiter
// in the container serves compute, priority, views and accounting with each of them.
enum class MemoryEnforcer {
  kMig,      // each tranche is a MIG instance of its own
  kKernel,   // the driver, by the container's control group (r615 and later; `kernelLimits`)
  kMps,      // the MPS server, for each client
  kLimiter,  // the library in the container alone
};

// Memory beyond the part, borrowed while it is idle (limit/lending.h).
struct Borrowing {
  Bytes hard;    // what the container may hold at most; more than the part
  Bytes device;  // what the device has: there is no more to lend from
  bool operator==(const Borrowing&) const = default;
};

// A container's part of one device.
struct DeviceLimits {
  std::string uuid;                         // "GPU-..." or "MIG-..."
  std::optional<Bytes> memory{};            // nullopt: no limit
  std::uint32_t weight = 1;                 // > 0; among those that want the device's time
  std::optional<std::uint32_t> permille{};  // of the device's time, 1..1000; nullopt: no cap
  std::optional<Borrowing> borrowing{};     // nullopt: it does not borrow
  // What keeps `memory`. Without a limit the limiter, which counts; but a MIG instance is one.
  MemoryEnforcer enforcer = MemoryEnforcer::kLimiter;
  bool operator==(const DeviceLimits&) const = default;
};

// A container's part of one resource.
struct GrantLimits {
  Enforcement enforcement = Enforcement::kOff;
  Priority priority = Priority::kNormal;
  std::vector<DeviceLimits> devices{};  // as the request named them first
  bool operator==(const GrantLimits&) const = default;
};

// As users write and read them: "off", "account", "strict", "elastic"; "latency-critical",
// "normal", "best-effort"; "mig", "kernel", "mps", "limiter". And back; nullopt: no such word.
std::string_view to_string(Enforcement enforcement);
std::string_view to_string(Priority priority);
std::string_view to_string(MemoryEnforcer enforcer);
std::optional<Enforcement> enforcement_of(std::string_view word);
std::optional<Priority> priority_of(std::string_view word);
std::optional<MemoryEnforcer> memory_enforcer_of(std::string_view word);

}  // namespace tranche
