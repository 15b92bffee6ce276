#pragma once
// What one process of a load does (Load) and its results (Report): plain values and their JSON. The
// program passes them to and from its worker processes in JSON, and prints it. JSON times are in
// nanoseconds, sizes in bytes.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "base/result.h"
#include "base/units.h"

namespace tranche::load {

using std::chrono::nanoseconds;

enum class Pattern : std::uint8_t {
  kProbe,    // reports the device and the speed of the busy kernel, and ends
  kHold,     // holds its memory
  kCompute,  // launches, waits for the end, pauses as its duty says
  kLatency,  // serves requests that arrive by the clock, and measures each response time
  kStorm,    // keeps `depth` launches queued all the time
  kFault,    // launches one kernel that writes to an invalid address
};

// The functions by which memory is allocated.
enum class Family : std::uint8_t { kAlloc, kPitch, kManaged, kAsync, kVmm, kArray };

// The clock for measurements.
enum class TimeBase : std::uint8_t {
  kHost,    // CLOCK_MONOTONIC
  kDevice,  // events of the device; for the simulated driver in virtual time
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): by meaning
struct Load {
  Pattern pattern = Pattern::kCompute;
  std::string name;  // name of the process in reports
  std::string driver = "libcuda.so.1";
  int device = 0;  // CUDA's ordinal

  Bytes memory;                    // to hold while it runs
  bool all_memory = false;         // instead of `memory`: hold as much as it gets
  Bytes chunk;                     // size of a piece; 0: one piece, or 64 MiB for all_memory
  Family family = Family::kAlloc;  // functions that allocate the memory
  Bytes scratch;                   // to allocate before each launch and free after it

  nanoseconds kernel = std::chrono::milliseconds(1);  // GPU time of one kernel
  unsigned graph_nodes = 0;  // above 0: a launch is a graph of so many kernels
  bool spin = false;         // use the spin kernel (kernels.h) instead of the busy one
  unsigned fill = 100;       // percent of the multiprocessors that a kernel uses
  double rounds_per_us = 0;  // rounds of the busy kernel in 1 us; 0: measure at start
  unsigned duty = 100;       // kCompute: percent of the time that it keeps the GPU busy
  unsigned depth = 64;       // kStorm: launches to keep queued
  nanoseconds every{0};      // kLatency: time between arrivals; 0: the next follows the answer
  nanoseconds duration{0};   // 0: it runs until told to stop
  std::uint64_t count = 0;   // it ends after so many launches or requests; 0: no limit
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
  Bytes memory;                // that it held
  std::uint64_t launches = 0;  // that were answered
  nanoseconds work{0};         // GPU time that these launches need on an idle GPU
  nanoseconds elapsed{0};      // from the start to the last answer
  std::optional<Percentiles> latency;
  std::string refused;  // all_memory: the driver's answer when there was no more
  std::string error;    // why it ended before its time; empty: it ended in time

  double launches_per_second() const;
  // The process's part of the GPU: `work` in percent of `elapsed`.
  double gpu_percent() const;
};

json::Value to_json(const Load& load);
json::Value to_json(const DeviceInfo& info);
json::Value to_json(const Report& report);
// A missing member keeps its default. kInvalidArgument: to_json() did not write this.
Result<Load> load_from_json(json::View json);
Result<DeviceInfo> device_from_json(json::View json);
Result<Report> report_from_json(json::View json);

}  // namespace tranche::load
