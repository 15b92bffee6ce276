#include "nvml/telemetry_fast.h"

namespace tranche::nvml {
namespace {

// nullopt if the parts are larger than the whole.
std::optional<gpu::MemoryFigures> plausible(const gpu::MemoryFigures& memory) {
  if (memory.used > memory.total || memory.free > memory.total) return std::nullopt;
  if (memory.reserved.value_or(Bytes{}) > memory.total) return std::nullopt;
  return memory;
}

std::optional<gpu::MemoryFigures> memory_of(FigureCalls& call, Device device) {
  MemoryV2 newer = {.version = version_word<MemoryV2>(2)};
  if (call.tells(call.api().nvmlDeviceGetMemoryInfo_v2, device, &newer)) {
    return plausible({.total = {newer.total},
                      .used = {newer.used},
                      .free = {newer.free},
                      .reserved = Bytes{newer.reserved}});
  }
  Memory older = {};
  if (!call.tells(call.api().nvmlDeviceGetMemoryInfo, device, &older)) return std::nullopt;
  return plausible({.total = {older.total}, .used = {older.used}, .free = {older.free}});
}

void read_utilisation(FigureCalls& call, Device device, gpu::FastFigures& figures) {
  const Api& api = call.api();
  Utilization rates = {};
  if (call.tells(api.nvmlDeviceGetUtilizationRates, device, &rates)) {
    figures.gpu_percent = percentage(rates.gpu);
    figures.memory_percent = percentage(rates.memory);
  }
  unsigned percent = 0;
  unsigned period_us = 0;
  if (call.tells(api.nvmlDeviceGetEncoderUtilization, device, &percent, &period_us)) {
    figures.encoder_percent = percentage(percent);
  }
  if (call.tells(api.nvmlDeviceGetDecoderUtilization, device, &percent, &period_us)) {
    figures.decoder_percent = percentage(percent);
  }
}

void read_clocks(FigureCalls& call, Device device, gpu::FastFigures& figures) {
  const auto& function = call.api().nvmlDeviceGetClockInfo;
  unsigned mhz = 0;
  if (call.tells(function, device, kClockSm, &mhz)) figures.sm_clock_mhz = mhz;
  if (call.tells(function, device, kClockMemory, &mhz)) figures.memory_clock_mhz = mhz;
}

void read_heat(FigureCalls& call, Device device, gpu::FastFigures& figures) {
  // A sensor that shows more measures nothing.
  constexpr std::uint32_t kHottest = 200;
  const Api& api = call.api();
  unsigned celsius = 0;
  if (call.tells(api.nvmlDeviceGetTemperature, device, kSensorGpu, &celsius) &&
      celsius <= kHottest) {
    figures.temperature_c = celsius;
  }
  // Some drivers say 0 for memory without a sensor.
  const auto memory = read_field(call, device, kFieldMemoryTemperature).value_or(0);
  if (memory > 0 && memory <= kHottest) {
    figures.memory_temperature_c = static_cast<std::uint32_t>(memory);
  }
  unsigned milliwatts = 0;
  if (call.tells(api.nvmlDeviceGetPowerUsage, device, &milliwatts)) figures.power_mw = milliwatts;
}

void read_remapped_rows(FigureCalls& call, Device device, gpu::FastFigures& figures) {
  unsigned correctable = 0;
  unsigned uncorrectable = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (!call.tells(call.api().nvmlDeviceGetRemappedRows, device, &correctable, &uncorrectable,
                  &pending, &failed)) {
    return;
  }
  figures.remapped_correctable = correctable;
  figures.remapped_uncorrectable = uncorrectable;
  figures.remap_failed = failed != 0;
}

}  // namespace

void read_fast_figures(FigureCalls& call, Device device, gpu::FastReading& reading) {
  reading.figures.memory = memory_of(call, device);
  read_utilisation(call, device, reading.figures);
  read_clocks(call, device, reading.figures);
  read_heat(call, device, reading.figures);
  read_remapped_rows(call, device, reading.figures);
  for (MigHandle& mig : mig_handles(call, device)) {
    reading.instances.push_back({std::move(mig.uuid), memory_of(call, mig.device)});
  }
}

}  // namespace tranche::nvml
