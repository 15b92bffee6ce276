#pragma once
// The opaque configuration of a claim or a DeviceClass, in the format of NVIDIA's DRA driver: group
// resource.nvidia.com/v1beta1, kinds GpuConfig and MigDeviceConfig. Parsed strictly, like there: an
// unknown field is an error, because its author believes that it has an effect. Pure.
//
// Tenants write it, so it can only lower what they get: a share of 50 % with 30 % of active threads
// has 30 %. One with 80 % is refused: its author would believe to have it. A DeviceClass's is for
// claims of any size, so values above a share have no effect.

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
  std::string interval = {};         // "Default", "Short", "Medium", "Long"; empty: not requested
  std::optional<int> threads = {};   // percent, 1 to 100: MPS's active threads
  std::optional<Bytes> memory = {};  // of each device, except for those below
  std::map<std::string, Bytes> memory_of = {};  // by UUID, or index within the claim
  bool from_class = false;                      // from the DeviceClass; else from the claim
  bool operator==(const ClaimSettings&) const = default;
};

// kUnsupported: a kind for another purpose (VfioDeviceConfig, ComputeDomain...). kInvalidArgument:
// not this group, an unknown kind or field, or an invalid value; with its path.
Result<ClaimSettings> parse_settings(std::string_view json);

// The settings for a request of the claim ("gpu/l20"): the last that names it, or names none;
// those of the class come before those of the claim. nullopt: none. An error names the
// request.
Result<std::optional<ClaimSettings>> settings_for(const cluster::ResourceClaim& claim,
                                                  std::string_view request,
                                                  std::string_view driver);

// Whether a claim's own settings are within its share (`limits`: of the share). kInvalidArgument:
// they exceed it, with both amounts.
Result<void> check_only_lowers(const DeviceLimits& limits, const ClaimSettings& settings,
                               std::size_t index);

// The limits of a device (`index`: among the claim's devices), lowered by the settings. `all`: the
// device's memory; an unlimited value gets a limit if the settings ask for less.
DeviceLimits lowered(DeviceLimits limits, const ClaimSettings& settings, std::size_t index,
                     Bytes all);

}  // namespace tranche::dra
