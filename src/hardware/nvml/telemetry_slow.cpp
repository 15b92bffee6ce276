#include "nvml/telemetry_slow.h"

#include <limits>

namespace tranche::nvml {
namespace {

std::optional<std::chrono::nanoseconds> duration(std::uint64_t ns) {
  using Count = std::chrono::nanoseconds::rep;
  if (ns > static_cast<std::uint64_t>(std::numeric_limits<Count>::max())) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<Count>(ns));
}

// NVML's own replacement of the call is the field; drivers before 580 lack that of heat.
std::optional<std::chrono::nanoseconds> throttled(FigureCalls& call, Device device, int policy,
                                                  std::uint32_t field) {
  ViolationTime time = {};
  if (call.tells(call.api().nvmlDeviceGetViolationStatus, device, policy, &time)) {
    return duration(time.violation_ns);
  }
  const auto ns = read_field(call, device, field);
  return ns ? duration(*ns) : std::nullopt;
}

}  // namespace

void read_slow_figures(FigureCalls& call, const std::shared_ptr<Session>& session, Device device,
                       GpmTracker& tracker, gpu::SlowReading& reading) {
  const Api& api = call.api();
  gpu::SlowFigures& figures = reading.figures;
  unsigned long long energy_mj = 0;
  if (call.tells(api.nvmlDeviceGetTotalEnergyConsumption, device, &energy_mj)) {
    figures.energy_mj = energy_mj;
  }
  unsigned replays = 0;
  if (call.tells(api.nvmlDeviceGetPcieReplayCounter, device, &replays)) {
    figures.pcie_replays = replays;
  }
  figures.throttled_by_power = throttled(call, device, kPolicyPower, kFieldPowerThrottled);
  figures.throttled_by_heat = throttled(call, device, kPolicyThermal, kFieldHeatThrottled);
  figures.activity = tracker.of_gpu(call, session, device);
  tracker.begin_instances();
  for (MigHandle& mig : mig_handles(call, device)) {
    reading.instances.push_back(
        {std::move(mig.uuid), tracker.of_instance(call, session, device, mig.device)});
  }
  tracker.end_instances();
}

}  // namespace tranche::nvml
