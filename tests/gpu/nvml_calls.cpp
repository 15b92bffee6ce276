// What NVML's calls for a GPU's figures cost on this machine, and the figures as the agent reads
// them. Usage: nvml_calls UUID. Lines: "call <name> <median us> <longest us> <nvmlReturn_t>" and
// "figure <name> <value>" ("-": the driver does not tell it). Only reads.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "nvml/library.h"
#include "nvml/telemetry_reader.h"

namespace tranche::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 30;
// GPM's counters are refreshed every 100 ms.
constexpr auto kBetweenSamples = 250ms;

template <class Call>
void measure(const char* name, Call call) {
  std::vector<double> rounds;
  nvml::Return result = nvml::kSuccess;
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = Clock::now();
    result = call();
    rounds.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::ranges::sort(rounds);
  std::printf("call %s %.1f %.1f %d\n", name, rounds[kRounds / 2], rounds.back(), result);
}

// Calls a function whose name is printed; one that the library lacks is not measured.
template <class Signature, class... Arguments>
void measure(const nvml::Function<Signature>& function, Arguments... arguments) {
  if (function.pointer == nullptr) return;
  measure(function.name, [&] { return function.pointer(arguments...); });
}

void measure_field(const nvml::Api& api, nvml::Device device, const char* name, std::uint32_t id) {
  if (api.nvmlDeviceGetFieldValues.pointer == nullptr) return;
  nvml::FieldValue field = {};
  field.field_id = id;
  measure(name, [&] {
    const auto result = api.nvmlDeviceGetFieldValues.pointer(device, 1, &field);
    return result == nvml::kSuccess ? field.result : result;
  });
}

void measure_fast(const nvml::Api& api, nvml::Device device) {
  nvml::MemoryV2 memory = {.version = nvml::version_word<nvml::MemoryV2>(2)};
  measure(api.nvmlDeviceGetMemoryInfo_v2, device, &memory);
  nvml::Utilization rates = {};
  measure(api.nvmlDeviceGetUtilizationRates, device, &rates);
  unsigned numbers[4] = {};
  measure(api.nvmlDeviceGetEncoderUtilization, device, &numbers[0], &numbers[1]);
  measure(api.nvmlDeviceGetDecoderUtilization, device, &numbers[0], &numbers[1]);
  measure(api.nvmlDeviceGetClockInfo, device, nvml::kClockSm, &numbers[0]);
  measure(api.nvmlDeviceGetTemperature, device, nvml::kSensorGpu, &numbers[0]);
  measure_field(api, device, "field,memory_temperature", nvml::kFieldMemoryTemperature);
  measure(api.nvmlDeviceGetPowerUsage, device, &numbers[0]);
  measure(api.nvmlDeviceGetRemappedRows, device, &numbers[0], &numbers[1], &numbers[2],
          &numbers[3]);
  measure(api.nvmlDeviceGetMigMode, device, &numbers[0], &numbers[1]);
}

void measure_gpm(const nvml::Api& api, nvml::Device device) {
  nvml::GpmSupport support = {.version = nvml::kGpmVersion, .is_supported = 0};
  measure(api.nvmlGpmQueryDeviceSupport, device, &support);
  if (support.is_supported == 0) return;
  static nvml::GpmMetricsGet request = {.version = nvml::kGpmVersion, .count = 2};
  request.metrics[0].metric_id = nvml::kGpmGraphics;
  request.metrics[1].metric_id = nvml::kGpmPcieSent;
  if (api.nvmlGpmSampleAlloc.pointer(&request.first) != nvml::kSuccess) return;
  if (api.nvmlGpmSampleAlloc.pointer(&request.second) == nvml::kSuccess) {
    measure(api.nvmlGpmSampleGet, device, request.first);
    std::this_thread::sleep_for(kBetweenSamples);
    api.nvmlGpmSampleGet.pointer(device, request.second);
    measure(api.nvmlGpmMetricsGet, &request);
    api.nvmlGpmSampleFree.pointer(request.second);
  }
  api.nvmlGpmSampleFree.pointer(request.first);
}

void measure_slow(const nvml::Api& api, nvml::Device device) {
  unsigned long long energy_mj = 0;
  measure(api.nvmlDeviceGetTotalEnergyConsumption, device, &energy_mj);
  unsigned replays = 0;
  measure(api.nvmlDeviceGetPcieReplayCounter, device, &replays);
  nvml::ViolationTime time = {};
  measure(api.nvmlDeviceGetViolationStatus, device, nvml::kPolicyPower, &time);
  measure_field(api, device, "field,throttled_by_power", nvml::kFieldPowerThrottled);
  measure_field(api, device, "field,throttled_by_heat", nvml::kFieldHeatThrottled);
  measure_gpm(api, device);
}

template <class Value>
void figure(const char* name, const std::optional<Value>& value) {
  if (value) {
    std::printf("figure %s %.6g\n", name, static_cast<double>(*value));
  } else {
    std::printf("figure %s -\n", name);
  }
}

void print(const gpu::FastFigures& figures) {
  const auto& memory = figures.memory;
  const auto mib = [&](Bytes gpu::MemoryFigures::* part) {
    return memory ? std::optional((*memory.*part).mib()) : std::nullopt;
  };
  figure("memory_total_mib", mib(&gpu::MemoryFigures::total));
  figure("memory_used_mib", mib(&gpu::MemoryFigures::used));
  figure("gpu_percent", figures.gpu_percent);
  figure("memory_percent", figures.memory_percent);
  figure("encoder_percent", figures.encoder_percent);
  figure("decoder_percent", figures.decoder_percent);
  figure("sm_clock_mhz", figures.sm_clock_mhz);
  figure("memory_clock_mhz", figures.memory_clock_mhz);
  figure("temperature_c", figures.temperature_c);
  figure("memory_temperature_c", figures.memory_temperature_c);
  figure("power_mw", figures.power_mw);
  figure("remapped_correctable", figures.remapped_correctable);
  figure("remapped_uncorrectable", figures.remapped_uncorrectable);
}

void print(const gpu::SlowFigures& figures, std::optional<double> watts) {
  const auto seconds = [](std::optional<std::chrono::nanoseconds> time) {
    return time ? std::optional(std::chrono::duration<double>(*time).count()) : std::nullopt;
  };
  figure("energy_mj", figures.energy_mj);
  figure("watts_by_energy", watts);
  figure("pcie_replays", figures.pcie_replays);
  figure("throttled_by_power_s", seconds(figures.throttled_by_power));
  figure("throttled_by_heat_s", seconds(figures.throttled_by_heat));
  const gpu::Activity& activity = figures.activity;
  figure("graphics", activity.graphics);
  figure("sm", activity.sm);
  figure("sm_occupancy", activity.sm_occupancy);
  figure("tensor", activity.tensor);
  figure("dram", activity.dram);
  figure("pcie_sent", activity.pcie_sent);
  figure("pcie_received", activity.pcie_received);
}

bool measure_all(const std::string& uuid) {
  const auto library = nvml::Library::load("");
  if (!library) {
    std::fprintf(stderr, "%s\n", library.error().message().c_str());
    return false;
  }
  const nvml::Api& api = (*library)->api();
  nvml::Device device = nullptr;
  const auto lookup = [&] { return api.nvmlDeviceGetHandleByUUID.pointer(uuid.c_str(), &device); };
  if (api.nvmlInit_v2.pointer == nullptr || api.nvmlDeviceGetHandleByUUID.pointer == nullptr ||
      api.nvmlInit_v2.pointer() != nvml::kSuccess) {
    std::fprintf(stderr, "NVML does not start\n");
    return false;
  }
  const bool found = lookup() == nvml::kSuccess;
  if (found) {
    measure(api.nvmlDeviceGetHandleByUUID.name, lookup);
    measure_fast(api, device);
    measure_slow(api, device);
  } else {
    std::fprintf(stderr, "no GPU %s\n", uuid.c_str());
  }
  api.nvmlShutdown.pointer();
  return found;
}

// Power over the time between two readings of energy.
std::optional<double> watts_between(const gpu::SlowFigures& first, const gpu::SlowFigures& second,
                                    std::chrono::duration<double> elapsed) {
  if (!first.energy_mj || !second.energy_mj || *second.energy_mj < *first.energy_mj) {
    return std::nullopt;
  }
  return static_cast<double>(*second.energy_mj - *first.energy_mj) / 1000 / elapsed.count();
}

bool read_all(const std::string& uuid) {
  nvml::TelemetryReader reader(nvml::Connection::make({}));
  const std::vector uuids{uuid};
  const auto first = reader.read_slow(uuids);
  const auto begin = Clock::now();
  std::this_thread::sleep_for(4 * kBetweenSamples);
  const auto fast = reader.read_fast(uuids);
  const auto second = reader.read_slow(uuids);
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  if (!first || !second || !fast || !first->at(0) || !second->at(0) || !fast->at(0)) {
    std::fprintf(stderr, "the GPU is not read\n");
    return false;
  }
  print(fast->at(0)->figures);
  print(second->at(0)->figures,
        watts_between(first->at(0)->figures, second->at(0)->figures, elapsed));
  return true;
}

}  // namespace
}  // namespace tranche::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: nvml_calls UUID\n");
    return 2;
  }
  return tranche::test::measure_all(argv[1]) && tranche::test::read_all(argv[1]) ? 0 : 1;
}
