#pragma once
// DCGM's names of our figures, in both generations, from the list metrics/dcgm.def. Constant.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "gpu/telemetry.h"
#include "metrics/exposition.h"

namespace tranche::metrics {

// What is known of one GPU or MIG instance, borrowed; nullptr: nothing, or not of this device.
struct DeviceSources {
  const gpu::FastFigures* fast = nullptr;
  const gpu::SlowFigures* slow = nullptr;
  const gpu::MemoryFigures* memory = nullptr;
  const gpu::Activity* engines = nullptr;
  const gpu::Activity* links = nullptr;
  std::optional<std::uint64_t> xid{};
};

// From the unit of gpu/telemetry.h to that of a name.
enum class Scale {
  kSame,
  kMega,     // times 10^6
  kMebi,     // by 2^20, rounded down, as DCGM does
  kPercent,  // by 100
  kMilli,    // by 10^3
  kNano,     // by 10^9
};

struct DcgmName {
  std::string_view name;
  Scale scale = Scale::kSame;
  std::string_view help;
};

using Reading = std::variant<std::uint64_t, double>;

struct DcgmFigure {
  std::optional<Reading> (*read)(const DeviceSources&) = nullptr;
  Type type = Type::kGauge;
  DcgmName v48;
  DcgmName v49;
};

// In the order of the list.
std::span<const DcgmFigure> dcgm_table();

// A double is not scaled: all that are one have the name's unit. nullopt: beyond 2^64.
std::optional<Value> scaled(const Reading& reading, Scale scale);

}  // namespace tranche::metrics
