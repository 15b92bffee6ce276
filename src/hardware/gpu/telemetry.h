#pragma once
// Port: reads the figures of GPUs and MIG instances that change all the time. A figure is absent
// (nullopt) where the driver does not report it, which is never the same as 0. Adapter:
// nvml/telemetry_reader.h. Fake: tests/support/fake_telemetry_reader.h.
//
// The calls are divided by what they cost on a real GPU (docs/internals/nvml-costs.md): fast ones
// take microseconds each, slow ones milliseconds.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tranche::gpu {

// total = used + free + reserved. `reserved` is the driver's own part (nvmlMemory_v2_t).
struct MemoryFigures {
  Bytes total;
  Bytes used;
  Bytes free;
  std::optional<Bytes> reserved{};  // nullopt: the driver counts it as used
  bool operator==(const MemoryFigures&) const = default;
};

// Figures of one GPU that are cheap to read. Ratios are in percent, as the driver reports them.
struct FastFigures {
  std::optional<MemoryFigures> memory{};
  std::optional<std::uint32_t> gpu_percent{};     // time with a kernel; not with MIG
  std::optional<std::uint32_t> memory_percent{};  // time in which memory was read or written
  std::optional<std::uint32_t> encoder_percent{};
  std::optional<std::uint32_t> decoder_percent{};
  std::optional<std::uint32_t> sm_clock_mhz{};
  std::optional<std::uint32_t> memory_clock_mhz{};
  std::optional<std::uint32_t> temperature_c{};
  std::optional<std::uint32_t> memory_temperature_c{};
  std::optional<std::uint32_t> power_mw{};
  std::optional<std::uint32_t> remapped_uncorrectable{};  // rows
  std::optional<std::uint32_t> remapped_correctable{};
  std::optional<bool> remap_failed{};
  bool operator==(const FastFigures&) const = default;
};

// Means since the previous reading, from two GPM samples (Hopper and later). Ratios are 0 to 1,
// throughputs bytes per second.
struct Activity {
  std::optional<double> graphics{};  // graphics and compute engine
  std::optional<double> sm{};
  std::optional<double> sm_occupancy{};
  std::optional<double> tensor{};
  std::optional<double> dram{};
  std::optional<double> fp64{};
  std::optional<double> fp32{};
  std::optional<double> fp16{};
  std::optional<double> pcie_sent{};
  std::optional<double> pcie_received{};
  std::optional<double> nvlink_sent{};
  std::optional<double> nvlink_received{};
  bool operator==(const Activity&) const = default;
};

// Figures of one GPU that are dear to read.
struct SlowFigures {
  std::optional<std::uint64_t> energy_mj{};  // since the driver was loaded
  std::optional<std::uint32_t> pcie_replays{};
  std::optional<std::chrono::nanoseconds> throttled_by_power{};  // since the driver was loaded
  std::optional<std::chrono::nanoseconds> throttled_by_heat{};
  Activity activity{};
  bool operator==(const SlowFigures&) const = default;
};

// One GPU, with its MIG instances in the order of their slots.
template <class Figures, class InstanceFigures>
struct DeviceFigures {
  std::string uuid;
  Figures figures{};
  struct Instance {
    std::string uuid;
    InstanceFigures figures{};
    bool operator==(const Instance&) const = default;
  };
  std::vector<Instance> instances{};
  bool operator==(const DeviceFigures&) const = default;
};
using FastReading = DeviceFigures<FastFigures, std::optional<MemoryFigures>>;
using SlowReading = DeviceFigures<SlowFigures, Activity>;

// Not thread-safe: one owner at a time.
class TelemetryReader {
 public:
  virtual ~TelemetryReader() = default;

  // The GPUs with these UUIDs, in this order. A GPU that is lost, or on which a call hangs, has an
  // error, which does not delay the others: kNotFound, kTimeout, kUnavailable. The whole fails as
  // Reader::read() does: kUnavailable: no driver; kTimeout: NVML hangs as a whole.
  virtual Result<std::vector<Result<FastReading>>> read_fast(std::span<const std::string> gpus) = 0;
  // Activity covers the time since the last call that had this device; the first one has none.
  virtual Result<std::vector<Result<SlowReading>>> read_slow(std::span<const std::string> gpus) = 0;
};

}  // namespace tranche::gpu
