#pragma once
// What one process of a load does, and what came of it: plain values, and their JSON, in which the
// program hands them to its worker processes and prints them. JSON times are nanoseconds, sizes
// bytes.

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tranche::load {

using std::chrono::nanoseconds;

enum class Pattern : std::uint8_t {
  kProbe,    // tells the device and how long work takes, and ends
  kHold,     // holds its memory
  kCompute,  // launches, waits, pauses: as a duty asks
  kLatency,  // requests that arrive by the clock; how long each takes until it is answered
  kStorm,    // keeps so many launches queued, for ever
  kFault,    // one kernel that writes where it must not
};

// How memory is asked for.
enum class Family : std::uint8_t { kAlloc, kPitch, kManaged, kAsync, kVmm, kArray };

// Whose time is measured and obeyed.
enum class TimeBase : std::uint8_t {
  kHost,    // CLOCK_MONOTONIC
  kDevice,  // events of the device: for the simulated driver in virtual time
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): by meaning
struct Load {
  Pattern pattern = Pattern::kCompute;
  std::string name;  // of the process, in reports
  std::string driver = "libcuda.so.1";
  int device = 0;  // CUDA's ordinal

  Bytes memory;                    // held while it runs
  bool all_memory = false;         // instead: as much as it gets
  Bytes chunk;                     // in pieces of this size; 0: in one, or 64 MiB for all_memory
  Family family = Family::kAlloc;  // of the memory held
  Bytes scratch;                   // allocated before and freed after each launch

  nanoseconds kernel = std::chrono::milliseconds(1);
  unsigned graph_nodes = 0;  // above 0: a launch is a graph of so many kernels
  bool spin = false;         // kernels end by the GPU's clock
  unsigned fill = 100;       // percent of the multiprocessors
  double rounds_per_us = 0;  // of the busy kernel; 0: measured at start
  unsigned duty = 100;       // kCompute: percent of the time
  unsigned depth = 64;       // kStorm: launches queued
  nanoseconds every{0};      // kLatency: time between arrivals; 0: the next follows the answer
  nanoseconds duration{0};   // 0: until told to stop
  std::uint64_t count = 0;   // launches or requests after which it ends; 0: no such end
  TimeBase time = TimeBase::kHost;
};

struct DeviceInfo {
  std::string name;
  Bytes memory;
  int compute_mode = 0;  // CUcomputemode
  double rounds_per_us = 0;
};

struct Percentiles {
  std::uint64_t count = 0;
  nanoseconds mean{0};
  nanoseconds p50{0};
  nanoseconds p90{0};
  nanoseconds p99{0};
  nanoseconds max{0};
};

struct Report {
  std::string name;
  int pid = 0;
  Bytes memory;                // held
  std::uint64_t launches = 0;  // that were answered
  nanoseconds work{0};         // GPU time that these need when alone
  nanoseconds elapsed{0};      // from the start to the last answer
  std::optional<Percentiles> latency;
  std::string refused;  // all_memory: what the driver said when there was no more
  std::string error;    // why it ended before its time; empty: it did not

  double launches_per_second() const;
  // Of the GPU: what its finished work would take alone, in parts of the time it took.
  double gpu_percent() const;
};

using Json = nlohmann::ordered_json;

Json to_json(const Load& load);
Json to_json(const DeviceInfo& info);
Json to_json(const Report& report);
// kInvalidArgument: not what to_json() wrote.
Result<Load> load_from_json(const Json& json);
Result<DeviceInfo> device_from_json(const Json& json);
Result<Report> report_from_json(const Json& json);

}  // namespace tranche::load
