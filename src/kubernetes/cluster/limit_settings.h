#pragma once
// Two annotations of a Pod's Node: what the operator sets for containers that run (`tranche limit
// set`), and the agent's answer.
//
// tranche.dev/limits (docs/schemas/limit-settings-v1.schema.json) is the order. Giving one takes
// the right to write Nodes. Agents have that right for their own Node; the admission policy keeps
// them from writing this annotation:
//
// {"version":"limit-settings/v1","settings":[{"namespace":...,"pod":...,"uid":...,"container":...,
//  "resource":"nvidia.com/gpu.shared","memory":"8Gi","compute":"30%","class":"best-effort"}]}
//
// Several settings may be about the same resource of the same container. The first that can be kept
// is in force. So a changed setting is put before the one in force, which is removed when the new
// one holds: until then the container is not without a limit.
//
// tranche.dev/limits-status is the agent's answer, one entry for each setting that it knows:
//
// {"version":"limit-status/v1","settings":[{...as above...,"state":"holds","message":"...",
//  "devices":[{"uuid":"GPU-...","memoryBytes":...,"permille":...}]}]}

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

// The resource of a setting that is about a claim: "claim/half", or "claim/half/gpu" where the
// container names one request of it. `claim`: as the Pod calls it.
inline constexpr std::string_view kClaimPrefix = "claim/";
std::string claim_resource(std::string_view claim, std::string_view request);

// Of one resource of one container of one Pod.
struct LimitSetting {
  static constexpr std::size_t kMost = 64;                         // containers of one node
  static constexpr std::size_t kMostEntries = 2 * kMost;           // while settings are changed
  static constexpr std::size_t kLongest = std::size_t{64} << 10U;  // bytes of the order

  std::string ns;
  std::string pod;
  std::string uid;
  std::string container;
  std::string resource;  // as advertised: "nvidia.com/gpu.shared"; or claim_resource()
  // As users write them; "": as the configuration promises.
  std::string memory;    // "8Gi", "25%", "none": of the container on each of its devices
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
    kRefused,  // the message says why; what stands behind it holds, else what was promised
    kWaiting,  // the container does not hold the resource (yet), or another setting of it holds
  };
  struct Device {
    std::string uuid;
    std::optional<std::uint64_t> memory_bytes{};  // nullopt: no limit
    std::optional<std::uint32_t> permille{};      // of its time; nullopt: no cap
    bool operator==(const Device&) const = default;
  };
  LimitSetting setting;
  State state = State::kWaiting;
  std::string message;
  std::vector<Device> devices;  // what holds now
  bool operator==(const LimitOutcome&) const = default;
};

std::string_view to_string(LimitOutcome::State state);  // "holds", "refused", "waiting"

std::string encode(const std::vector<LimitSetting>& settings);
// An answer longer than LimitOutcome::kLongest leaves out the devices and cuts the messages. Then
// it fits: names in Kubernetes are bounded, and there are at most kMostEntries.
std::string encode(const std::vector<LimitOutcome>& outcomes);
// kInvalidArgument: not of this version, too long, too many, or a field that cannot be one. What
// stands in memory, compute and class is judged by who obeys it (config/limits.h).
Result<std::vector<LimitSetting>> decode_limit_settings(std::string_view text);
Result<std::vector<LimitOutcome>> decode_limit_outcomes(std::string_view text);

}  // namespace tranche::cluster
