#pragma once
// The limits of a container on its granted devices, as values. offer/ makes them from the
// configuration. They are stored with the grant; the agent writes them for the arbiter (limits/v1),
// and the arbiter enforces them. Sizes are bytes. Parts of a device's time are thousandths of it
// (permille).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "values/enforcement.h"

namespace tranche {

// Enforces the memory limits of a device's tranches, from strongest to weakest. With each
// of them the limiter in the container handles compute, priority, memory views and
// accounting.
enum class MemoryEnforcer {
  kMig,      // each tranche is its own MIG instance
  kKernel,   // the driver, by the container's cgroup (r615 and later; `kernelLimits`)
  kMps,      // the MPS server, per client
  kLimiter,  // only the limiter in the container
};

// Memory beyond its part that a container may borrow while others leave it idle (limit/lending.h).
struct Borrowing {
  Bytes hard;    // the most that the container may hold; more than the part
  Bytes device;  // the device's usable memory, the upper bound of what can be lent
  bool operator==(const Borrowing&) const = default;
};

// A container's part of one device.
struct DeviceLimits {
  std::string uuid;                         // "GPU-..." or "MIG-..."
  std::optional<Bytes> memory{};            // nullopt: no limit
  std::uint32_t weight = 1;                 // > 0; among the tenants that want GPU time
  std::optional<std::uint32_t> permille{};  // of the device's time, 1..1000; nullopt: no cap
  std::optional<Borrowing> borrowing{};     // nullopt: it does not borrow
  // The enforcer of `memory`. Without a limit it is the limiter, which counts; on a MIG instance
  // always kMig where each tranche is an instance.
  MemoryEnforcer enforcer = MemoryEnforcer::kLimiter;
  bool operator==(const DeviceLimits&) const = default;
};

// A container's part of one resource.
struct GrantLimits {
  Enforcement enforcement = Enforcement::kOff;
  Priority priority = Priority::kNormal;
  std::vector<DeviceLimits> devices{};  // in the order in which the request first names them
  bool operator==(const GrantLimits&) const = default;
};

// Whether the limits are enforced; otherwise usage is only counted, or with kOff not even that.
bool is_enforced(Enforcement enforcement);
// The part of a device to which a container is limited; nullopt: none.
std::optional<DeviceLimits> enforced_part(const GrantLimits& limits, std::string_view device);

// The words that users write and read: "off", "account", "strict", "elastic"; "latency-critical",
// "normal", "best-effort"; "mig", "kernel", "mps", "limiter". The *_of functions parse them;
// nullopt: unknown word.
std::string_view to_string(Enforcement enforcement);
std::string_view to_string(Priority priority);
std::string_view to_string(MemoryEnforcer enforcer);
std::optional<Enforcement> enforcement_of(std::string_view word);
std::optional<Priority> priority_of(std::string_view word);
std::optional<MemoryEnforcer> memory_enforcer_of(std::string_view word);

}  // namespace tranche
