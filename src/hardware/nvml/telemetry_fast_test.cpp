// Drivers that tell what cannot be. (What a driver tells otherwise: tests/contract.)

#include "nvml/telemetry_fast.h"

#include <gtest/gtest.h>

namespace tranche::nvml::telemetry_fast_test {
namespace {

gpu::FastReading read(const Api& api) {
  Progress progress;
  Calls calls(api, progress);
  FigureCalls call(calls);
  gpu::FastReading reading;
  read_fast_figures(call, nullptr, reading);
  return reading;
}

template <int kType>
Return field(Device, int, FieldValue* value) {
  value->value_type = kType;
  value->value.as_ulong = 55;
  return kSuccess;
}

TEST(TelemetryFast, PercentagesAreAtMost100) {
  Api api;
  api.nvmlDeviceGetUtilizationRates.pointer = +[](Device, Utilization* rates) {
    *rates = {.gpu = 101, .memory = 100};
    return kSuccess;
  };
  api.nvmlDeviceGetEncoderUtilization.pointer = +[](Device, unsigned* percent, unsigned*) {
    *percent = 4'000'000'000U;
    return kSuccess;
  };
  const auto figures = read(api).figures;
  EXPECT_EQ(figures.gpu_percent, std::nullopt);
  EXPECT_EQ(figures.memory_percent, 100U);
  EXPECT_EQ(figures.encoder_percent, std::nullopt);
  EXPECT_EQ(figures.decoder_percent, std::nullopt) << "there is no such function";
}

TEST(TelemetryFast, NoPartOfMemoryIsLargerThanAll) {
  struct Case {
    const char* name;
    MemoryV2 memory;
    bool plausible;
  };
  static MemoryV2 told;
  const Case cases[] = {
      {"in order", {.total = 10, .reserved = 1, .free = 3, .used = 6}, true},
      {"all used", {.total = 10, .used = 10}, true},
      {"used", {.total = 10, .used = 11}, false},
      {"free", {.total = 10, .free = 11}, false},
      {"reserved", {.total = 10, .reserved = 11}, false},
  };
  for (const Case& c : cases) {
    told = c.memory;
    Api api;
    api.nvmlDeviceGetMemoryInfo_v2.pointer = +[](Device, MemoryV2* memory) {
      if (memory->version != version_word<MemoryV2>(2)) return kArgumentVersionMismatch;
      *memory = told;
      return kSuccess;
    };
    EXPECT_EQ(read(api).figures.memory.has_value(), c.plausible) << c.name;
  }
}

TEST(TelemetryFast, AMemoryTemperatureOf0IsNoSensor) {
  Api api;
  api.nvmlDeviceGetFieldValues.pointer = +[](Device, int, FieldValue* value) {
    value->value_type = kValueUnsignedInt;
    value->value.as_uint = 0;
    return kSuccess;
  };
  EXPECT_EQ(read(api).figures.memory_temperature_c, std::nullopt);
}

TEST(TelemetryFast, FieldsCarryTheirTypeAndTheirOwnResult) {
  struct Case {
    const char* name;
    Return (*function)(Device, int, FieldValue*);
    std::optional<std::uint32_t> celsius;
  };
  const Case cases[] = {
      {"unsigned", &field<kValueUnsignedInt>, 55},
      {"unsigned long", &field<kValueUnsignedLong>, 55},
      {"unsigned long long", &field<kValueUnsignedLongLong>, 55},
      {"double", &field<0>, std::nullopt},
      {"a type of later", &field<77>, std::nullopt},
      {"refused",
       +[](Device, int, FieldValue* value) {
         value->value_type = kValueUnsignedInt;
         value->value.as_uint = 55;
         value->result = kNotSupported;
         return kSuccess;
       },
       std::nullopt},
  };
  for (const Case& c : cases) {
    Api api;
    api.nvmlDeviceGetFieldValues.pointer = c.function;
    EXPECT_EQ(read(api).figures.memory_temperature_c, c.celsius) << c.name;
  }
}

TEST(TelemetryFast, AfterALossNothingIsAsked) {
  static int asked;
  asked = 0;
  Api api;
  api.nvmlDeviceGetUtilizationRates.pointer = +[](Device, Utilization*) { return kGpuIsLost; };
  api.nvmlDeviceGetPowerUsage.pointer = +[](Device, unsigned*) {
    ++asked;
    return kSuccess;
  };
  Progress progress;
  Calls calls(api, progress);
  FigureCalls call(calls);
  gpu::FastReading reading;
  read_fast_figures(call, nullptr, reading);
  EXPECT_EQ(call.loss(), kGpuIsLost);
  EXPECT_EQ(call.failure(), "NVML error (nvmlDeviceGetUtilizationRates: 15)");
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace tranche::nvml::telemetry_fast_test
