#pragma once
// This machine's GPUs and processes, by NVML alone: without an agent, and so without Pods' names. A
// process is told as one of a Pod (its uid), of the host, or of nobody known, by its control group.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fs.h"
#include "gpu/process_reader.h"
#include "gpu/reader.h"
#include "gpu/telemetry.h"
#include "host/process_owners.h"
#include "top/source/source.h"

namespace tranche::top {

class Local final : public Source {
 public:
  struct Ports {
    gpu::Reader& reader;
    gpu::TelemetryReader& telemetry;
    gpu::ProcessReader& processes;
    FsRoot host;  // for /proc
    const Clock& clock;
  };
  // MIG layouts change; what GPUs there are is read again after this time.
  static constexpr std::chrono::seconds kReadHardwareEvery{10};

  explicit Local(Ports ports);

  Result<Reading> read(const std::stop_token& stop) override;
  std::string name() const override { return "this machine's driver"; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  Result<void> refresh_machine();
  void read_gpus(usage::NodeUsage& usage);
  bool read_processes(usage::NodeUsage& usage);
  usage::ProcessUsage process_of(const gpu::DeviceProcess& process, const std::string& device);

  const Ports ports_;
  host::ProcessOwners owners_;
  std::optional<gpu::Machine> machine_;
  TimePoint machine_at_{};
  std::optional<TimePoint> processes_at_;
  std::chrono::nanoseconds between_{0};  // the last two readings of processes; 0: there was one
};

// With NVML of this machine. `driver_root`: where the driver's libraries are; usually "/".
std::unique_ptr<Source> open_local(const std::string& driver_root, const FsRoot& host);

}  // namespace tranche::top
