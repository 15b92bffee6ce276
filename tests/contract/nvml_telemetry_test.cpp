// Figures that change all the time, read over the simulated machine, and over the fake for what
// both promise.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/sim_machine.h"
#include "nvml/telemetry_reader.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/uses.h"
#include "support/fake_telemetry_reader.h"
#include "support/wait.h"

namespace tranche::nvml::nvml_telemetry_test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

constexpr const char* kA100Mig = "    mig: {enabled: true, instances: [1g.5gb, 2g.10gb]}\n";

// A process with a load that is constant since before any window.
class Program {
 public:
  explicit Program(test::SimMachine& machine)
      : sim_(machine.sim()), slot_(sim_.claim_slot("program").value()) {}
  ~Program() { sim_.release_slot(slot_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  sim::Use& takes(const sim::UseTarget& target, std::uint64_t mib, std::uint32_t permille) {
    sim::Use* use = sim::add_use(sim_, *slot_, target).value();
    EXPECT_TRUE(sim::take_memory(sim_, *use, mib << 20U));
    use->declared_since_ns.store(1);
    use->declared_permille.store(permille);
    return *use;
  }

 private:
  sim::Simulation& sim_;
  sim::ProcessSlot* slot_;
};

gpu::FastReading fast(TelemetryReader& reader, const std::string& uuid) {
  const auto readings = reader.read_fast(std::span(&uuid, 1));
  EXPECT_TRUE(readings) << readings.error().message();
  EXPECT_TRUE(readings->at(0)) << readings->at(0).error().message();
  return readings->at(0).value();
}

gpu::SlowReading slow(TelemetryReader& reader, const std::string& uuid) {
  const auto readings = reader.read_slow(std::span(&uuid, 1));
  EXPECT_TRUE(readings) << readings.error().message();
  EXPECT_TRUE(readings->at(0)) << readings->at(0).error().message();
  return readings->at(0).value();
}

// Turns MIG on on the first GPU of an H200, with these GPU instances of one compute slice each.
std::vector<sim::MigDevice> cut(test::SimMachine& sim, int instances) {
  sim::State& state = sim.sim().state();
  const sim::Simulation::Guard guard(state);
  EXPECT_TRUE(sim::set_mig_mode(sim.sim(), state.gpus[0], true));
  const sim::Profile* profile = sim::profile_by_name(state.models[0], "1g.18gb");
  for (int i = 0; i < instances; ++i) {
    const auto id = sim::create_gpu_instance(state, state.gpus[0], *profile, std::nullopt);
    EXPECT_TRUE(sim::create_compute_instance(state, state.gpus[0], *id, 1, std::nullopt));
  }
  return sim::mig_devices(state.gpus[0]);
}

// The instance goes; another one with its id and place comes.
void recreate(test::SimMachine& sim, sim::MigDevice device) {
  sim::State& state = sim.sim().state();
  sim::Gpu& gpu = state.gpus[0];
  const sim::Simulation::Guard guard(state);
  const std::uint32_t start = gpu.instances[device.gpu_instance].start;
  ASSERT_TRUE(sim::destroy_compute_instance(sim.sim(), gpu, device));
  ASSERT_TRUE(sim::destroy_gpu_instance(gpu, device.gpu_instance));
  const sim::Profile* profile = sim::profile_by_name(state.models[0], "1g.18gb");
  const auto id = sim::create_gpu_instance(state, gpu, *profile, start);
  ASSERT_TRUE(id);
  ASSERT_EQ(*id, device.gpu_instance);
  ASSERT_TRUE(sim::create_compute_instance(state, gpu, *id, 1, std::nullopt));
}

// Counts the calls of a function, which succeed.
class CallCount {
 public:
  CallCount(test::SimMachine& sim, const std::string& function) {
    const auto added = sim::add_fault(
        sim.sim(), {.kind = sim::FaultKind::kDelay, .function = function, .strikes = kMost});
    EXPECT_TRUE(added);
    for (sim::Fault& fault : sim.sim().state().faults) {
      if (function == fault.function) fault_ = &fault;
    }
  }
  std::int64_t calls() const { return kMost - fault_->strikes.load(); }

 private:
  static constexpr std::int64_t kMost = 1000;
  sim::Fault* fault_ = nullptr;
};

TEST(NvmlTelemetry, AnH200TellsAll) {
  test::SimMachine sim("h200");
  Program program(sim);
  program.takes({.gpu = 0}, 1024, 500);
  TelemetryReader reader(Connection::make(sim.options()));
  const auto total = Bytes::from_mib(143771);
  const auto reserved = Bytes::from_mib(607);
  const auto used = Bytes::from_mib(1024);
  const gpu::FastReading expected = {
      .uuid = sim.uuid(0),
      .figures = {.memory = gpu::MemoryFigures{.total = total,
                                               .used = used,
                                               .free = {total.value - used.value - reserved.value},
                                               .reserved = reserved},
                  .gpu_percent = 50,
                  .memory_percent = 17,
                  .encoder_percent = 0,
                  .decoder_percent = 0,
                  .sm_clock_mhz = 1980,
                  .memory_clock_mhz = 2619,
                  .temperature_c = 50,
                  .memory_temperature_c = 56,
                  .power_mw = 353'500,
                  .remapped_uncorrectable = 0,
                  .remapped_correctable = 0,
                  .remap_failed = false}};
  EXPECT_EQ(fast(reader, sim.uuid(0)), expected);
  EXPECT_EQ(fast(reader, sim.uuid(1)).figures.gpu_percent, 0U);
}

TEST(NvmlTelemetry, ActivityIsOfTheTimeSinceTheReadingBefore) {
  test::SimMachine sim("h200");
  Program program(sim);
  sim::Use& use = program.takes({.gpu = 0}, 1024, 500);
  TelemetryReader reader(Connection::make(sim.options()));
  const auto first = slow(reader, sim.uuid(0));
  EXPECT_EQ(first.figures.activity, gpu::Activity{});
  EXPECT_EQ(first.figures.throttled_by_power, 0ns);
  EXPECT_EQ(first.figures.throttled_by_heat, 0ns);
  EXPECT_EQ(first.figures.pcie_replays, 0U);
  const auto second = slow(reader, sim.uuid(0));
  EXPECT_GE(second.figures.energy_mj, first.figures.energy_mj);
  const gpu::Activity& activity = second.figures.activity;
  EXPECT_NEAR(activity.graphics.value(), 0.5, 0.01);
  EXPECT_NEAR(activity.sm.value(), 0.5, 0.01);
  EXPECT_NEAR(activity.sm_occupancy.value(), 0.167, 0.01);
  EXPECT_NEAR(activity.dram.value(), 0.167, 0.01);
  for (const auto& figure :
       {activity.tensor, activity.fp64, activity.fp32, activity.fp16, activity.pcie_sent,
        activity.pcie_received, activity.nvlink_sent, activity.nvlink_received}) {
    EXPECT_THAT(figure, Optional(0.0));
  }
  use.declared_permille.store(0);
  slow(reader, sim.uuid(0));
  EXPECT_THAT(slow(reader, sim.uuid(0)).figures.activity.graphics, Optional(0.0));
  EXPECT_EQ(slow(reader, sim.uuid(1)).figures.activity, gpu::Activity{}) << "its first reading";
}

TEST(NvmlTelemetry, WhatAModelDoesNotTellIsAbsent) {
  struct Case {
    const char* machine;
    bool memory_temperature;
    bool remapped_rows;
    bool activity;
  };
  for (const Case& c : {Case{"l20", false, true, false},
                        {"t4", false, false, false},
                        {"a100-40gb", true, true, false},
                        {"h100", true, true, true}}) {
    SCOPED_TRACE(c.machine);
    test::SimMachine sim(c.machine);
    TelemetryReader reader(Connection::make(sim.options()));
    const auto figures = fast(reader, sim.uuid(0)).figures;
    EXPECT_EQ(figures.memory_temperature_c.has_value(), c.memory_temperature);
    EXPECT_EQ(figures.remapped_correctable.has_value(), c.remapped_rows);
    EXPECT_EQ(figures.remapped_uncorrectable.has_value(), c.remapped_rows);
    EXPECT_EQ(figures.remap_failed.has_value(), c.remapped_rows);
    EXPECT_THAT(figures.gpu_percent, Optional(0U));
    EXPECT_TRUE(figures.power_mw && figures.temperature_c && figures.memory);
    slow(reader, sim.uuid(0));
    const auto second = slow(reader, sim.uuid(0)).figures;
    EXPECT_EQ(second.activity.graphics.has_value(), c.activity);
    EXPECT_TRUE(second.energy_mj && second.pcie_replays && second.throttled_by_power);
  }
}

TEST(NvmlTelemetry, AnA100WithMigTellsMemoryOfItsInstances) {
  test::SimMachine sim(test::a100_machine(1, kA100Mig));
  const auto& gpu = sim.sim().state().gpus[0];
  const auto devices = sim::mig_devices(gpu);
  Program program(sim);
  program.takes({.gpu = 0,
                 .gpu_instance = devices[1].gpu_instance,
                 .compute_instance = devices[1].compute_instance},
                100, 700);
  TelemetryReader reader(Connection::make(sim.options()));
  const auto reading = fast(reader, sim.uuid(0));
  EXPECT_EQ(reading.figures.gpu_percent, std::nullopt);
  EXPECT_EQ(reading.figures.encoder_percent, std::nullopt);
  EXPECT_EQ(reading.figures.remap_failed, std::nullopt);
  EXPECT_TRUE(reading.figures.power_mw);
  ASSERT_THAT(reading.instances, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(reading.instances[i].uuid, sim::mig_uuid(gpu, devices[i]));
    const auto memory = reading.instances[i].figures.value();
    EXPECT_EQ(memory.used, Bytes::from_mib(i == 1 ? 100 : 0));
    EXPECT_GT(memory.total, Bytes::from_mib(4000));
    EXPECT_EQ(memory.free.value, memory.total.value - memory.used.value);
  }
  slow(reader, sim.uuid(0));
  const auto second = slow(reader, sim.uuid(0));
  EXPECT_EQ(second.figures.activity, gpu::Activity{});
  ASSERT_THAT(second.instances, SizeIs(2));
  EXPECT_EQ(second.instances[1].figures, gpu::Activity{});
}

TEST(NvmlTelemetry, AHopperWithMigTellsActivityOfItsInstances) {
  test::SimMachine sim("h200");
  const auto devices = cut(sim, 2);
  ASSERT_THAT(devices, SizeIs(2));
  Program program(sim);
  program.takes({.gpu = 0, .gpu_instance = devices[0].gpu_instance, .compute_instance = 0}, 0, 400);
  TelemetryReader reader(Connection::make(sim.options()));
  const auto first = slow(reader, sim.uuid(0));
  ASSERT_THAT(first.instances, SizeIs(2));
  EXPECT_EQ(first.instances[0].figures, gpu::Activity{});
  const auto second = slow(reader, sim.uuid(0));
  EXPECT_NEAR(second.figures.activity.graphics.value(), 0.4, 0.01);
  EXPECT_NEAR(second.instances[0].figures.graphics.value(), 0.4, 0.01);
  EXPECT_THAT(second.instances[1].figures.graphics, Optional(0.0));
  EXPECT_EQ(second.instances[0].figures.pcie_sent, std::nullopt);
}

TEST(NvmlTelemetry, ComputeInstancesOfOneGpuInstanceShareItsActivity) {
  test::SimMachine sim("h200");
  cut(sim, 0);
  sim::State& state = sim.sim().state();
  {
    const sim::Simulation::Guard guard(state);
    const sim::Profile* profile = sim::profile_by_name(state.models[0], "2g.35gb");
    const auto id = sim::create_gpu_instance(state, state.gpus[0], *profile, std::nullopt);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(sim::create_compute_instance(state, state.gpus[0], *id, 1, std::nullopt));
    }
  }
  const CallCount samples(sim, "nvmlGpmMigSampleGet");
  TelemetryReader reader(Connection::make(sim.options()));
  slow(reader, sim.uuid(0));
  const auto second = slow(reader, sim.uuid(0));
  ASSERT_THAT(second.instances, SizeIs(2));
  EXPECT_TRUE(second.instances[0].figures.graphics);
  EXPECT_EQ(second.instances[0].figures, second.instances[1].figures);
  EXPECT_EQ(samples.calls(), 2) << "one for each reading";
}

TEST(NvmlTelemetry, AnInstanceMadeAnewBeginsAnew) {
  test::SimMachine sim("h200");
  const auto devices = cut(sim, 1);
  TelemetryReader reader(Connection::make(sim.options()));
  slow(reader, sim.uuid(0));
  EXPECT_TRUE(slow(reader, sim.uuid(0)).instances.at(0).figures.graphics);
  recreate(sim, devices.at(0));
  EXPECT_EQ(slow(reader, sim.uuid(0)).instances.at(0).figures, gpu::Activity{});
  EXPECT_TRUE(slow(reader, sim.uuid(0)).instances.at(0).figures.graphics);
}

TEST(NvmlTelemetry, SamplesAreFreed) {
  test::SimMachine sim("h200");
  const auto devices = cut(sim, 1);
  const CallCount made(sim, "nvmlGpmSampleAlloc");
  const CallCount freed(sim, "nvmlGpmSampleFree");
  {
    TelemetryReader reader(Connection::make(sim.options()));
    for (int i = 0; i < 4; ++i) slow(reader, sim.uuid(0));
    EXPECT_EQ(made.calls(), 4) << "two of the GPU, two of the instance";
    {
      const sim::Simulation::Guard guard(sim.sim().state());
      sim::Gpu& gpu = sim.sim().state().gpus[0];
      ASSERT_TRUE(sim::destroy_compute_instance(sim.sim(), gpu, devices[0]));
      ASSERT_TRUE(sim::destroy_gpu_instance(gpu, devices[0].gpu_instance));
    }
    EXPECT_THAT(slow(reader, sim.uuid(0)).instances, IsEmpty());
    EXPECT_EQ(freed.calls(), 2) << "of the instance";
  }
  EXPECT_TRUE(test::eventually([&] { return freed.calls() == made.calls(); }));
}

TEST(NvmlTelemetry, SamplesEndWithTheirSession) {
  test::SimMachine sim("h200");
  const CallCount made(sim, "nvmlGpmSampleAlloc");
  const CallCount freed(sim, "nvmlGpmSampleFree");
  const auto connection = Connection::make(sim.options());
  TelemetryReader reader(connection);
  slow(reader, sim.uuid(0));
  slow(reader, sim.uuid(0));
  connection->restart();
  EXPECT_TRUE(test::eventually([&] { return freed.calls() == 2; }));
  EXPECT_EQ(slow(reader, sim.uuid(0)).figures.activity, gpu::Activity{}) << "it begins anew";
  EXPECT_TRUE(slow(reader, sim.uuid(0)).figures.activity.graphics);
  EXPECT_EQ(made.calls(), 4);
}

TEST(NvmlTelemetry, AFigureThatCannotBeReadIsAbsentAlone) {
  struct Case {
    const char* function;
    void (*forget)(gpu::FastFigures&);
  };
  const Case cases[] = {
      {"nvmlDeviceGetUtilizationRates",
       [](gpu::FastFigures& f) { f.gpu_percent = f.memory_percent = std::nullopt; }},
      {"nvmlDeviceGetEncoderUtilization",
       [](gpu::FastFigures& f) { f.encoder_percent = std::nullopt; }},
      {"nvmlDeviceGetDecoderUtilization",
       [](gpu::FastFigures& f) { f.decoder_percent = std::nullopt; }},
      {"nvmlDeviceGetClockInfo",
       [](gpu::FastFigures& f) { f.sm_clock_mhz = f.memory_clock_mhz = std::nullopt; }},
      {"nvmlDeviceGetTemperature", [](gpu::FastFigures& f) { f.temperature_c = std::nullopt; }},
      {"nvmlDeviceGetFieldValues",
       [](gpu::FastFigures& f) { f.memory_temperature_c = std::nullopt; }},
      {"nvmlDeviceGetPowerUsage", [](gpu::FastFigures& f) { f.power_mw = std::nullopt; }},
      {"nvmlDeviceGetRemappedRows",
       [](gpu::FastFigures& f) {
         f.remapped_correctable = f.remapped_uncorrectable = std::nullopt;
         f.remap_failed = std::nullopt;
       }},
      {"nvmlDeviceGetMigMode", [](gpu::FastFigures&) {}},
  };
  test::SimMachine sim("h200");
  TelemetryReader reader(Connection::make(sim.options()));
  const auto whole = fast(reader, sim.uuid(0)).figures;
  for (const Case& c : cases) {
    for (const Return error :
         {kNotSupported, kNoPermission, kNotFound, kFunctionNotFound, kUnknown}) {
      sim.fail(c.function, error);
      auto expected = whole;
      c.forget(expected);
      EXPECT_EQ(fast(reader, sim.uuid(0)).figures, expected) << c.function << " " << error;
      sim.heal();
    }
  }
}

TEST(NvmlTelemetry, MemoryByAnOlderDriver) {
  test::SimMachine sim("l20");
  sim.fail("nvmlDeviceGetMemoryInfo_v2", kFunctionNotFound);
  TelemetryReader reader(Connection::make(sim.options()));
  const auto memory = fast(reader, sim.uuid(0)).figures.memory.value();
  EXPECT_EQ(memory.reserved, std::nullopt);
  EXPECT_EQ(memory.used, Bytes::from_mib(592 + 2)) << "the driver's own part counts as used";
  sim.fail("nvmlDeviceGetMemoryInfo", kNotSupported);
  EXPECT_EQ(fast(reader, sim.uuid(0)).figures.memory, std::nullopt);
}

TEST(NvmlTelemetry, DearFiguresThatCannotBeReadAreAbsentAlone) {
  test::SimMachine sim("h200");
  TelemetryReader reader(Connection::make(sim.options()));
  slow(reader, sim.uuid(0));
  sim.fail("nvmlDeviceGetTotalEnergyConsumption", kNotSupported);
  auto figures = slow(reader, sim.uuid(0)).figures;
  EXPECT_EQ(figures.energy_mj, std::nullopt);
  EXPECT_TRUE(figures.pcie_replays && figures.throttled_by_heat && figures.activity.graphics);
  sim.heal();
  sim.fail("nvmlGpmSampleGet", kUnknown);
  figures = slow(reader, sim.uuid(0)).figures;
  EXPECT_EQ(figures.activity, gpu::Activity{});
  EXPECT_TRUE(figures.energy_mj);
  sim.heal();
  EXPECT_EQ(slow(reader, sim.uuid(0)).figures.activity, gpu::Activity{}) << "there is a gap";
  EXPECT_TRUE(slow(reader, sim.uuid(0)).figures.activity.graphics);
  sim.fail("nvmlGpmMetricsGet", kNoPermission);
  EXPECT_EQ(slow(reader, sim.uuid(0)).figures.activity, gpu::Activity{});
}

// As of CUDA 14, by its announcement. (The simulated driver lacks the newer field of heat.)
TEST(NvmlTelemetry, WithoutTheViolationCallAFieldTellsOfPower) {
  test::SimMachine sim("h200");
  sim.fail("nvmlDeviceGetViolationStatus", kFunctionNotFound);
  TelemetryReader reader(Connection::make(sim.options()));
  const auto figures = slow(reader, sim.uuid(0)).figures;
  EXPECT_EQ(figures.throttled_by_power, 0ns);
  EXPECT_EQ(figures.throttled_by_heat, std::nullopt);
}

TEST(NvmlTelemetry, MoreMemoryUsedThanThereIsIsNoFigure) {
  test::SimMachine sim("l20");
  Program program(sim);
  program.takes({.gpu = 0}, 0, 0).memory.store(std::uint64_t{1} << 50U);
  TelemetryReader reader(Connection::make(sim.options()));
  EXPECT_EQ(fast(reader, sim.uuid(0)).figures.memory, std::nullopt);
}

TEST(NvmlTelemetry, ALostGpuIsAnErrorOfItsOwn) {
  test::SimMachine sim("h200");
  TelemetryReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim.uuid(0), sim.uuid(1)};
  ASSERT_TRUE(reader.read_fast(uuids).value()[0]);
  sim.set_presence(0, sim::Presence::kLost);
  EXPECT_EQ(reader.read_fast(uuids).value()[0].error().code, Code::kUnavailable);
  EXPECT_EQ(reader.read_slow(uuids).value()[0].error().code, Code::kUnavailable);
  EXPECT_TRUE(reader.read_fast(uuids).value()[1]);
  EXPECT_TRUE(reader.read_slow(uuids).value()[1]);
  sim.set_presence(0, sim::Presence::kPresent);
  EXPECT_TRUE(reader.read_fast(uuids).value()[0]);
}

TEST(NvmlTelemetry, AGpuThatIsLostInMidReadingHasNoFigures) {
  for (const char* function : {"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetPowerUsage",
                               "nvmlDeviceGetMigMode", "nvmlDeviceGetRemappedRows"}) {
    test::SimMachine sim(test::a100_machine(2));
    sim.fail(function, kGpuIsLost, 0);
    TelemetryReader reader(Connection::make(sim.options()));
    const std::vector uuids{sim.uuid(0), sim.uuid(1)};
    const auto readings = reader.read_fast(uuids).value();
    ASSERT_FALSE(readings[0]) << function;
    EXPECT_EQ(readings[0].error().code, Code::kUnavailable);
    EXPECT_THAT(readings[0].error().what, ::testing::HasSubstr(function));
    EXPECT_TRUE(readings[1]) << function;
  }
}

TEST(NvmlTelemetry, AGpuThatHangsCostsTheOthersNothing) {
  test::SimMachine sim("h200");
  // Long enough for a busy machine to start a session and to answer for the other GPU.
  const auto connection = Connection::make(sim.options(1s));
  TelemetryReader reader(connection);
  const std::vector uuids{sim.uuid(0), sim.uuid(1)};
  ASSERT_TRUE(reader.read_slow(uuids).value()[0]);
  sim.hang("nvmlGpmSampleGet", 0);
  const auto dear = reader.read_slow(uuids).value();
  EXPECT_EQ(dear[0].error().code, Code::kTimeout);
  EXPECT_TRUE(dear[1].value().figures.activity.graphics);
  const auto cheap = reader.read_fast(uuids).value();
  EXPECT_EQ(cheap[0].error().code, Code::kTimeout) << "it is not asked again while it hangs";
  EXPECT_TRUE(cheap[1]);
  EXPECT_EQ(connection->pool().stuck(), 1U);
  sim.heal();
  ASSERT_TRUE(test::eventually([&] { return connection->pool().stuck() == 0; }));
  EXPECT_EQ(slow(reader, uuids[0]).figures.activity, gpu::Activity{}) << "it begins anew";
  EXPECT_TRUE(slow(reader, uuids[0]).figures.activity.graphics);
  sim.hang("nvmlDeviceGetPowerUsage", 1);
  EXPECT_EQ(reader.read_fast(uuids).value()[1].error().code, Code::kTimeout);
  sim.heal();
  ASSERT_TRUE(test::eventually([&] { return connection->pool().stuck() == 0; }));
}

TEST(NvmlTelemetry, TheDriverGoesAndReturns) {
  test::SimMachine sim("h200");
  TelemetryReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim.uuid(0)};
  slow(reader, uuids[0]);
  sim.set_driver_error(kDriverNotLoaded);
  EXPECT_EQ(reader.read_slow(uuids).value()[0].error().code, Code::kUnavailable);
  EXPECT_EQ(reader.read_fast(uuids).error().code, Code::kUnavailable);
  EXPECT_EQ(reader.read_slow(uuids).error().code, Code::kUnavailable);
  sim.set_driver_error(0);
  EXPECT_TRUE(reader.read_fast(uuids).value()[0]);
  EXPECT_EQ(slow(reader, uuids[0]).figures.activity, gpu::Activity{});
  EXPECT_TRUE(slow(reader, uuids[0]).figures.activity.graphics);
}

TEST(NvmlTelemetry, ALibraryWithoutTheseFunctionsTellsNothing) {
  test::SimMachine sim("l20");
  sim.install(TRANCHE_NVML_STUB);
  TelemetryReader reader(Connection::make(sim.options()));
  const std::vector uuids{std::string("GPU-stub")};
  // It cannot even find a GPU by its UUID.
  EXPECT_EQ(reader.read_fast(uuids).value()[0].error().code, Code::kUnavailable);
  EXPECT_EQ(reader.read_slow(uuids).value()[0].error().code, Code::kUnavailable);
}

// What the fake and the adapter both promise, of a GPU that has activity.
void first_activity_is_none(gpu::TelemetryReader& reader, const std::string& known) {
  const std::vector uuids{std::string("GPU-00000000-0000-0000-0000-000000000000"), known};
  for (int i = 0; i < 2; ++i) {
    const auto fast = reader.read_fast(uuids).value();
    ASSERT_THAT(fast, SizeIs(2));
    EXPECT_EQ(fast[0].error().code, Code::kNotFound);
    EXPECT_EQ(fast[1].value().uuid, known);
    const auto slow = reader.read_slow(uuids).value();
    ASSERT_THAT(slow, SizeIs(2));
    EXPECT_EQ(slow[0].error().code, Code::kNotFound);
    EXPECT_EQ(slow[1].value().uuid, known);
    EXPECT_EQ(slow[1].value().figures.activity.graphics.has_value(), i > 0);
  }
  EXPECT_THAT(reader.read_fast({}).value(), IsEmpty());
}

TEST(TelemetryReaderContract, EachGpuHasItsOwnResult) {
  test::SimMachine sim("h200");
  TelemetryReader reader(Connection::make(sim.options()));
  first_activity_is_none(reader, sim.uuid(0));
  test::FakeTelemetryReader fake;
  fake.set(gpu::SlowReading{.uuid = "GPU-1", .figures = {.activity = {.graphics = 0.5}}});
  first_activity_is_none(fake, "GPU-1");
}

TEST(TelemetryReaderContract, WithoutADriverTheReadingFails) {
  test::SimMachine sim("l20");
  sim.set_driver_error(kDriverNotLoaded);
  TelemetryReader reader(Connection::make(sim.options()));
  test::FakeTelemetryReader fake;
  fake.fail_with({Code::kUnavailable, "no driver"});
  const std::vector uuids{sim.uuid(0)};
  for (gpu::TelemetryReader* one :
       {static_cast<gpu::TelemetryReader*>(&reader), static_cast<gpu::TelemetryReader*>(&fake)}) {
    EXPECT_EQ(one->read_fast(uuids).error().code, Code::kUnavailable);
    EXPECT_EQ(one->read_slow(uuids).error().code, Code::kUnavailable);
  }
}

TEST(TelemetryReaderContract, ALostGpuIsAnErrorUntilItIsBack) {
  test::SimMachine sim("h200");
  TelemetryReader reader(Connection::make(sim.options()));
  test::FakeTelemetryReader fake;
  fake.set(gpu::FastReading{.uuid = sim.uuid(0)});
  const std::vector uuids{sim.uuid(0)};
  const auto check = [&](bool there) {
    EXPECT_EQ(reader.read_fast(uuids).value()[0].has_value(), there);
    EXPECT_EQ(fake.read_fast(uuids).value()[0].has_value(), there);
    EXPECT_EQ(reader.read_slow(uuids).value()[0].has_value(), there);
    EXPECT_EQ(fake.read_slow(uuids).value()[0].has_value(), there);
  };
  check(true);
  sim.set_presence(0, sim::Presence::kLost);
  fake.fail_gpu(sim.uuid(0), {Code::kUnavailable, "lost"});
  check(false);
  sim.set_presence(0, sim::Presence::kPresent);
  fake.heal(sim.uuid(0));
  check(true);
}

}  // namespace
}  // namespace tranche::nvml::nvml_telemetry_test
