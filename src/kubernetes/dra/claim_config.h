#pragma once
// The opaque configuration of a claim or a DeviceClass, in the format of NVIDIA's DRA driver: group
// resource.nvidia.com/v1beta1, kinds GpuConfig and MigDeviceConfig. Parsed strictly, like there: an
// unknown field is an error, because its author believes that it has an effect. What it does to a
// claim: dra/lowering.h. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace tranche::dra {

inline constexpr std::string_view kConfigGroup = "resource.nvidia.com/v1beta1";

enum class SharingWish { kNone, kTimeSlicing, kMps };

struct ClaimSettings {
  enum class Kind { kGpu, kMig };  // for whole GPUs, for MIG instances
  Kind kind = Kind::kGpu;
  SharingWish sharing = SharingWish::kNone;
  std::string interval = {};         // "Default", "Short", "Medium", "Long"; empty: not requested
  std::optional<int> threads = {};   // percent, 1 to 100: MPS's active threads; of 0 it makes none
  std::optional<Bytes> memory = {};  // of each device, except for those below; at least 1 MiB
  // By UUID, or by index among the devices that the configuration is for, in the order of UUIDs.
  std::map<std::string, Bytes> memory_of = {};
  bool operator==(const ClaimSettings&) const = default;
};

// kUnsupported: a kind for another purpose (VfioDeviceConfig, ComputeDomain...). kInvalidArgument:
// not this group, an unknown kind or field, or an invalid value; with its path.
Result<ClaimSettings> parse_settings(std::string_view json);

}  // namespace tranche::dra
