#pragma once
// What the configurations of a claim and of its DeviceClasses (dra/claim_config.h) do to its
// devices. Pure.
//
// Tenants write the claim's, so it can only lower what they get: a share of 50 % with 30 % of
// active threads has 30 %. One with 80 % is refused: its author would believe to have it. A
// DeviceClass's is for claims of any size, so values above a share have no effect, and a claim
// cannot undo it: the smallest of all counts.
//
// One without `requests` is for the devices of its kind; of a claim's the last that is for a device
// counts. This is as in NVIDIA's driver, except that there a claim's replaces the class's.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cluster/resource_claim.h"
#include "dra/claim_config.h"
#include "values/limits.h"

namespace tranche::dra {

// A device of a claim that is not for monitoring.
struct ConfiguredDevice {
  std::string name;     // "gpu-0"
  std::string request;  // "gpu", or "gpu/l20"
  std::string uuid;     // empty: a place
  ClaimSettings::Kind kind = ClaimSettings::Kind::kGpu;
};

// nullopt: not said.
struct Most {
  std::optional<Bytes> memory;
  std::optional<std::uint32_t> permille;  // of compute
  bool operator==(const Most&) const = default;
};

struct Lowering {
  Most by_claim;
  Most by_class;
  bool operator==(const Lowering&) const = default;
};

// One entry per device. An error says whose configuration is wrong: it cannot be read, the claim's
// names a request with a device of the other kind, or an index or UUID that it is not for.
// Indexes and UUIDs that a DeviceClass's is not for are those of other claims.
Result<std::vector<Lowering>> lowerings_of(const cluster::ResourceClaim& claim,
                                           std::span<const ConfiguredDevice> devices,
                                           std::string_view driver);

// Whether what the claim itself asks for is within its share (`limits`: of the share).
// kInvalidArgument: it exceeds the share, with both amounts.
Result<void> check_only_lowers(const DeviceLimits& limits, const Most& by_claim);

// The limits of a device, lowered. `all`: the device's memory; an unlimited value gets a limit if
// less is asked for.
DeviceLimits lowered(DeviceLimits limits, const Lowering& lowering, Bytes all);

}  // namespace tranche::dra
