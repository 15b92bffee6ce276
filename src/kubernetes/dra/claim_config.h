#pragma once
// The opaque configuration of a claim or of a DeviceClass, as NVIDIA's DRA driver has it: group
// resource.nvidia.com/v1beta1, kinds GpuConfig and MigDeviceConfig. Read strictly, as there: a
// field that is not known is an error, for its author believes that it does something. Pure.
//
// Tenants write it, so it only lowers what they get: a share of 50 % with 30 % of active threads
// has 30 %. One with 80 % is refused: its author would believe to have it. A DeviceClass's is for
// claims of any size, so what is more than a share does nothing.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "cluster/resource_claim.h"
#include "values/limits.h"

namespace tranche::dra {

inline constexpr std::string_view kConfigGroup = "resource.nvidia.com/v1beta1";

enum class SharingWish { kNone, kTimeSlicing, kMps };

struct ClaimSettings {
  enum class Kind { kGpu, kMig };
  Kind kind = Kind::kGpu;
  SharingWish sharing = SharingWish::kNone;
  std::string interval = {};  // "Default", "Short", "Medium", "Long"; empty: none is asked for
  std::optional<int> threads = {};              // percent, 1 to 100: MPS's active threads
  std::optional<Bytes> memory = {};             // of each device, but for those below
  std::map<std::string, Bytes> memory_of = {};  // by UUID, or index within the claim
  bool from_class = false;                      // of the DeviceClass; else of the claim
  bool operator==(const ClaimSettings&) const = default;
};

// kUnsupported: a kind for something else (VfioDeviceConfig, ComputeDomain...). kInvalidArgument:
// not this group, an unknown kind or field, or a value that can be none; with its path.
Result<ClaimSettings> parse_settings(std::string_view json);

// Those that hold for a request of the claim ("gpu/l20"): the last that names it, or names none;
// what the class says stands before what the claim says. nullopt: none does. An error names the
// request.
Result<std::optional<ClaimSettings>> settings_for(const cluster::ResourceClaim& claim,
                                                  std::string_view request,
                                                  std::string_view driver);

// Whether what a claim's own settings ask is within its share (`limits`: of it). kInvalidArgument:
// it is more, with both amounts.
Result<void> check_only_lowers(const DeviceLimits& limits, const ClaimSettings& settings,
                               std::size_t index);

// The limits of a device (`index`: of the claim's devices) with what the settings lower. `all`: of
// the device; what has no limit yet gets one where the settings ask for less.
DeviceLimits lowered(DeviceLimits limits, const ClaimSettings& settings, std::size_t index,
                     Bytes all);

}  // namespace tranche::dra
