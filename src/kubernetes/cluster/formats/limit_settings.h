#pragma once
// Two annotations of a Pod's Node: what the operator sets for running containers (`tranche limit
// set`), and the agent's answer.
//
// tranche.dev/limits (docs/schemas/limit-settings-v1.schema.json) is the request. It requires
// permission to write Nodes. Agents have that permission for their own Node; the admission policy
// keeps them from writing this annotation:
//
// {"version":"limit-settings/v1","settings":[{"namespace":...,"pod":...,"uid":...,"container":...,
// "resource":"nvidia.com/gpu.shared","memory":"8Gi","compute":"30%","class":"best-effort"}]}
//
// Several settings may concern the same resource of the same container. The first one that can be
// applied is in effect. So a changed setting is inserted before the current one, which is removed
// once the new one holds: until then the container keeps its limit.
//
// tranche.dev/limits-status is the agent's answer, one entry for each known setting, and then, as
// far as there is room, for what annotations of Pods ask for ("by":"annotations"):
//
// {"version":"limit-status/v1","settings":[{...as above...,"state":"holds","message":"...",
// "devices":[{"uuid":"GPU-...","memoryBytes":...,"permille":...}]}]}

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::cluster {

inline constexpr const char* kLimitSettingsAnnotation = "tranche.dev/limits";
inline constexpr const char* kLimitStatusAnnotation = "tranche.dev/limits-status";

// The resource of a setting for a claim: "claim/half", or "claim/half/gpu" if the container names
// one request of it. `claim`: its name in the Pod.
inline constexpr std::string_view kClaimPrefix = "claim/";
std::string claim_resource(std::string_view claim, std::string_view request);

// Concerns one resource of one container of one Pod.
struct LimitSetting {
  static constexpr std::size_t kMost = 64;                // containers of one node
  static constexpr std::size_t kMostEntries = 2 * kMost;  // while settings are being changed
  static constexpr std::size_t kLongest = std::size_t{64} << 10U;  // bytes of the request

  std::string ns;
  std::string pod;
  std::string uid;
  std::string container;
  std::string resource;  // as advertised: "nvidia.com/gpu.shared"; or claim_resource()
  // As users write them; "": as promised by the configuration.
  std::string memory;    // "8Gi", "25%", "none": for the container on each of its devices
  std::string compute;   // "30%", "none"
  std::string priority;  // "latency-critical", "normal", "best-effort"
  bool operator==(const LimitSetting&) const = default;

  bool is_about(const LimitSetting& other) const {
    return uid == other.uid && container == other.container && resource == other.resource;
  }
  bool is_empty() const { return memory.empty() && compute.empty() && priority.empty(); }
};

struct LimitOutcome {
  static constexpr std::size_t kLongest = std::size_t{160} << 10U;  // bytes of the answer
  enum class State {
    kHolds,    // in force
    kRefused,  // the message says why; the next setting applies, or else the promise
    kWaiting,  // the container does not hold the resource (yet), or another of its settings holds
  };
  struct Device {
    std::string uuid;
    std::optional<std::uint64_t> memory_bytes{};  // nullopt: no limit
    std::optional<std::uint32_t> permille{};      // of its time; nullopt: no cap
    bool operator==(const Device&) const = default;
  };
  LimitSetting setting;
  // Whose setting it is.
  enum class By {
    kOperator,     // tranche limit set
    kAnnotations,  // the Pod's own annotations
  };
  State state = State::kWaiting;
  std::string message;
  std::vector<Device> devices;  // current values
  By by = By::kOperator;
  bool operator==(const LimitOutcome&) const = default;
};

std::string_view to_string(LimitOutcome::State state);  // "holds", "refused", "waiting"

// Whether it can stand in a setting as memory, compute or class: a Pod's owner may write anything.
bool is_limit_value(std::string_view text);

std::string encode(const std::vector<LimitSetting>& settings);
// An answer longer than LimitOutcome::kLongest omits the devices and truncates the messages. Then
// it fits, because Kubernetes names are bounded and there are at most kMostEntries.
std::string encode(const std::vector<LimitOutcome>& outcomes);
// kInvalidArgument: not of this version, too long, too many, or an invalid field. The values of
// memory, compute and class are checked where they are applied (config/limits.h).
Result<std::vector<LimitSetting>> decode_limit_settings(std::string_view text);
Result<std::vector<LimitOutcome>> decode_limit_outcomes(std::string_view text);

}  // namespace tranche::cluster
