// What changes all the time: energy, sensors, counters, GPM. In virtual time, which only the test
// advances, every figure is exact.

#include <gtest/gtest.h>

#include "sim/gpu/busy_time.h"
#include "sim/gpu/gpu_time.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/sensors.h"
#include "sim/gpu/uses.h"
#include "sim/state/clock.h"
#include "sim/state/faults.h"
#include "support.h"

namespace tranche::sim::telemetry_test {
namespace {

using namespace abi;
using test::Nvml;
using test::World;

constexpr std::uint64_t kSecond = 1'000'000'000;

class VirtualWorld : public World {
 public:
  explicit VirtualWorld(std::string_view machine) : World(machine) {
    ::setenv("TRANCHE_SIM_CLOCK", "virtual", 1);
    sim = open();
  }
  ~VirtualWorld() { ::unsetenv("TRANCHE_SIM_CLOCK"); }
  void pass(std::uint64_t ns) const { sim->state().virtual_now_ns.fetch_add(ns); }

  std::shared_ptr<Simulation> sim;
};

// A process with a declared load.
class Load {
 public:
  Load(Simulation& sim, const UseTarget& target, std::uint32_t permille)
      : sim_(sim), slot_(sim.claim_slot("load").value()) {
    Use* use = add_use(sim, *slot_, target).value();
    use->declared_since_ns.store(now_ns(sim.state()));
    use->declared_permille.store(permille);
  }
  ~Load() { sim_.release_slot(slot_); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  Simulation& sim_;
  ProcessSlot* slot_;
};

unsigned long long energy(const Nvml& nvml) {
  unsigned long long mj = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetTotalEnergyConsumption", nvml.gpu(), &mj), NVML_SUCCESS);
  return mj;
}

nvmlFieldValue_t field(const Nvml& nvml, unsigned int id) {
  nvmlFieldValue_t value = {};
  value.fieldId = id;
  EXPECT_EQ(nvml("nvmlDeviceGetFieldValues", nvml.gpu(), 1, &value), NVML_SUCCESS);
  return value;
}

// The H200 needs 70 W at rest, and 637 under full load.
TEST(Energy, IsPowerOverTime) {
  const VirtualWorld world("h200");
  const Nvml nvml;
  world.pass(10 * kSecond);
  EXPECT_EQ(energy(nvml), 700'000U);
  EXPECT_EQ(energy(nvml), 700'000U) << "no time has passed";
  {
    const Load load(*world.sim, {}, 500);
    world.pass(10 * kSecond);
    EXPECT_EQ(energy(nvml), 700'000U + 3'535'000U);
    EXPECT_EQ(field(nvml, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION).value.ullVal, 4'235'000U);
  }
  world.pass(10 * kSecond);
  EXPECT_EQ(energy(nvml), 4'235'000U + 700'000U);
}

TEST(Energy, MoreThanFullIsFull) {
  const VirtualWorld world("h200");
  const Nvml nvml;
  const Load one(*world.sim, {}, 800);
  const Load other(*world.sim, {}, 800);
  world.pass(10 * kSecond);
  EXPECT_EQ(energy(nvml), 6'370'000U);
}

TEST(Energy, KernelsOfProcessesThatEndedCount) {
  const VirtualWorld world("h200");
  const Nvml nvml;
  ProcessSlot* slot = world.sim->claim_slot("").value();
  Use* use = add_use(*world.sim, *slot, {}).value();
  const auto time = GpuTime::open(*world.sim, {}).value();
  const std::uint64_t lane = time.add_lane({.process = slot, .use = use}).value();
  time.submit(lane, 2 * kSecond);
  world.pass(30 * kSecond);  // more than there are sample windows for
  time.bring_up_to_date();
  world.sim->release_slot(slot);
  EXPECT_EQ(busy_time(*world.sim, 0).busy_ns, 2 * kSecond);
  EXPECT_EQ(energy(nvml), 30 * 70'000U + 2 * 567'000U);
}

// A reader is killed in whatever instruction it is.
TEST(Energy, SurvivesAKilledReader) {
  const World world("t4");
  const auto sim = world.open();
  std::uint64_t before = 0;
  for (int i = 0; i < 20; ++i) {
    const test::Signal ready;
    const pid_t reader = test::in_child([&]() -> int {
      for (int j = 0;; ++j) {
        energy_mj(*sim, 0);
        if (j == i) ready.give();
      }
    });
    ready.await();
    ::kill(reader, SIGKILL);
    EXPECT_EQ(test::wait_for(reader), 128 + SIGKILL);
    const std::uint64_t now = energy_mj(*sim, 0);
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(Energy, ReadersDoNotDisturbEachOther) {
  const World world("t4");
  const auto sim = world.open();
  const Load load(*sim, {}, 1000);
  pid_t readers[3] = {};
  for (pid_t& reader : readers) {
    reader = test::in_child([&] {
      std::uint64_t before = 0;
      for (int i = 0; i < 2000; ++i) {
        const BusyTime now = busy_time(*sim, 0);
        if (now.busy_ns < before) return 1;
        before = now.busy_ns;
      }
      return 0;
    });
  }
  for (const pid_t reader : readers) EXPECT_EQ(test::wait_for(reader), 0);
  const BusyTime sum = busy_time(*sim, 0);
  EXPECT_LE(sum.busy_ns, sum.until_ns - sim->state().gpus[0].began_ns);
}

TEST(Sensors, OnlyHbmTellsItsTemperature) {
  struct Case {
    const char* machine;
    bool tells;
  };
  for (const Case& c : {Case{"t4", false},
                        {"l20", false},
                        {"rtx-pro-6000", false},
                        {"a30", true},
                        {"a100-40gb", true},
                        {"h200", true},
                        {"b200", true}}) {
    const World world(c.machine);
    const Nvml nvml;
    const auto value = field(nvml, NVML_FI_DEV_MEMORY_TEMP);
    EXPECT_EQ(value.nvmlReturn, c.tells ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED) << c.machine;
    EXPECT_EQ(value.value.uiVal > 30, c.tells) << c.machine;
  }
}

TEST(Counters, FollowTheMachine) {
  const World world("l20");
  const Nvml nvml;
  const auto sim = world.open();
  Gpu& gpu = sim->state().gpus[0];
  gpu.remapped_correctable.store(1);
  gpu.remapped_uncorrectable.store(2);
  gpu.remap_failed.store(1);
  gpu.pcie_replays.store(35);
  unsigned int rows[4] = {9, 9, 9, 9};
  EXPECT_EQ(nvml("nvmlDeviceGetRemappedRows", nvml.gpu(), &rows[0], &rows[1], &rows[2], &rows[3]),
            NVML_SUCCESS);
  EXPECT_EQ(rows[0], 1U);
  EXPECT_EQ(rows[1], 2U);
  EXPECT_EQ(rows[2], 0U);
  EXPECT_EQ(rows[3], 1U);
  EXPECT_EQ(field(nvml, NVML_FI_DEV_REMAPPED_UNC).value.uiVal, 2U);
  EXPECT_EQ(field(nvml, NVML_FI_DEV_PCIE_REPLAY_COUNTER).value.uiVal, 35U);
  unsigned int replays = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetPcieReplayCounter", nvml.gpu(), &replays), NVML_SUCCESS);
  EXPECT_EQ(replays, 35U);
  nvmlViolationTime_t violation = {};
  EXPECT_EQ(nvml("nvmlDeviceGetViolationStatus", nvml.gpu(), NVML_PERF_POLICY_POWER, &violation),
            NVML_SUCCESS);
  EXPECT_EQ(violation.violationTime, 0U);
  EXPECT_GT(violation.referenceTime, 0U);
  EXPECT_EQ(nvml("nvmlDeviceGetViolationStatus", nvml.gpu(), 99U, &violation),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST(Counters, MigModeHidesSome) {
  const World world("a100-40gb-mig");
  const Nvml nvml;
  unsigned int value = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetEncoderUtilization", nvml.gpu(), &value, &value),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml("nvmlDeviceGetRemappedRows", nvml.gpu(), &value, &value, &value, &value),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml("nvmlDeviceGetPowerUsage", nvml.gpu(), &value), NVML_SUCCESS);
  EXPECT_EQ(nvml("nvmlDeviceGetPowerUsage", nvml.mig(0), &value), NVML_ERROR_NOT_SUPPORTED);
}

// Two samples, freed at the end.
struct Samples {
  explicit Samples(const Nvml& library) : nvml(library) {
    EXPECT_EQ(nvml("nvmlGpmSampleAlloc", &first), NVML_SUCCESS);
    EXPECT_EQ(nvml("nvmlGpmSampleAlloc", &second), NVML_SUCCESS);
  }
  ~Samples() {
    EXPECT_EQ(nvml("nvmlGpmSampleFree", first), NVML_SUCCESS);
    EXPECT_EQ(nvml("nvmlGpmSampleFree", second), NVML_SUCCESS);
    EXPECT_EQ(nvml("nvmlGpmSampleFree", second), NVML_ERROR_INVALID_ARGUMENT);
  }
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;

  nvmlReturn_t compare(std::initializer_list<unsigned int> ids) {
    request = {.version = NVML_GPM_METRICS_GET_VERSION,
               .numMetrics = static_cast<unsigned int>(ids.size()),
               .sample1 = first,
               .sample2 = second,
               .metrics = {}};
    std::size_t i = 0;
    for (const unsigned int id : ids) request.metrics[i++].metricId = id;
    return nvml("nvmlGpmMetricsGet", &request);
  }

  const Nvml& nvml;
  nvmlGpmSample_t first = nullptr;
  nvmlGpmSample_t second = nullptr;
  nvmlGpmMetricsGet_t request = {};
};

TEST(Gpm, MeansBetweenTwoSamples) {
  const VirtualWorld world("h200");
  const Nvml nvml;
  Samples samples(nvml);
  const Load load(*world.sim, {}, 600);
  EXPECT_EQ(nvml("nvmlGpmSampleGet", nvml.gpu(), samples.first), NVML_SUCCESS);
  EXPECT_EQ(samples.compare({1}), NVML_ERROR_INVALID_ARGUMENT) << "the second is empty";
  world.pass(kSecond);
  EXPECT_EQ(nvml("nvmlGpmSampleGet", nvml.gpu(), samples.second), NVML_SUCCESS);
  ASSERT_EQ(samples.compare({NVML_GPM_METRIC_GRAPHICS_UTIL, NVML_GPM_METRIC_DRAM_BW_UTIL,
                             NVML_GPM_METRIC_PCIE_TX_PER_SEC, 999}),
            NVML_SUCCESS);
  EXPECT_EQ(samples.request.metrics[0].nvmlReturn, NVML_SUCCESS);
  EXPECT_DOUBLE_EQ(samples.request.metrics[0].value, 60);
  EXPECT_DOUBLE_EQ(samples.request.metrics[1].value, 20);
  EXPECT_EQ(samples.request.metrics[2].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(samples.request.metrics[3].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  std::swap(samples.first, samples.second);
  EXPECT_EQ(samples.compare({1}), NVML_ERROR_INVALID_ARGUMENT) << "the wrong way round";
  samples.request.version = 2;
  EXPECT_EQ(nvml("nvmlGpmMetricsGet", &samples.request), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  samples.request.version = 1;
  samples.request.numMetrics = NVML_GPM_METRIC_MAX + 1;
  EXPECT_EQ(nvml("nvmlGpmMetricsGet", &samples.request), NVML_ERROR_INVALID_ARGUMENT);
}

TEST(Gpm, OnlyHopperAndLater) {
  for (const auto& [machine, supported] :
       {std::pair{"t4", 0U}, {"l20", 0U}, {"a100-40gb", 0U}, {"h100", 1U}, {"b200", 1U}}) {
    const World world(machine);
    const Nvml nvml;
    nvmlGpmSupport_t support = {.version = NVML_GPM_SUPPORT_VERSION, .isSupportedDevice = 9};
    EXPECT_EQ(nvml("nvmlGpmQueryDeviceSupport", nvml.gpu(), &support), NVML_SUCCESS);
    EXPECT_EQ(support.isSupportedDevice, supported) << machine;
    const Samples samples(nvml);
    EXPECT_EQ(nvml("nvmlGpmSampleGet", nvml.gpu(), samples.first),
              supported == 1 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(nvml("nvmlGpmMigSampleGet", nvml.gpu(), 0U, samples.first), NVML_ERROR_NOT_SUPPORTED);
  }
}

TEST(Gpm, EachGpuInstanceHasItsOwn) {
  const VirtualWorld world("h200");
  Gpu& gpu = world.sim->state().gpus[0];
  {
    const Simulation::Guard guard(world.sim->state());
    ASSERT_TRUE(set_mig_mode(*world.sim, gpu, true));
    const Profile* profile = profile_by_name(world.sim->state().models[0], "1g.18gb");
    for (int i = 0; i < 2; ++i) {
      const auto id = create_gpu_instance(world.sim->state(), gpu, *profile, std::nullopt);
      ASSERT_TRUE(id && create_compute_instance(world.sim->state(), gpu, *id, 1, std::nullopt));
    }
  }
  const auto devices = mig_devices(gpu);
  ASSERT_EQ(devices.size(), 2U);
  const Nvml nvml;
  Samples busy(nvml);
  Samples idle(nvml);
  const Load load(*world.sim, {.gpu_instance = devices[0].gpu_instance, .compute_instance = 0},
                  400);
  const auto take = [&](nvmlGpmSample_t of_busy, nvmlGpmSample_t of_idle) {
    EXPECT_EQ(nvml("nvmlGpmMigSampleGet", nvml.gpu(), devices[0].gpu_instance, of_busy),
              NVML_SUCCESS);
    EXPECT_EQ(nvml("nvmlGpmMigSampleGet", nvml.gpu(), devices[1].gpu_instance, of_idle),
              NVML_SUCCESS);
  };
  take(busy.first, idle.first);
  world.pass(kSecond);
  take(busy.second, idle.second);
  ASSERT_EQ(busy.compare({NVML_GPM_METRIC_SM_UTIL, NVML_GPM_METRIC_PCIE_TX_PER_SEC}), NVML_SUCCESS);
  EXPECT_DOUBLE_EQ(busy.request.metrics[0].value, 40);
  EXPECT_EQ(busy.request.metrics[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(idle.compare({NVML_GPM_METRIC_SM_UTIL}), NVML_SUCCESS);
  EXPECT_DOUBLE_EQ(idle.request.metrics[0].value, 0);
  EXPECT_EQ(nvml("nvmlGpmMigSampleGet", nvml.gpu(), 14U, busy.first), NVML_ERROR_INVALID_ARGUMENT);
}

TEST(Gpm, FaultsOfTheGpuConcernTheComparison) {
  const VirtualWorld world("h200");
  const Nvml nvml;
  Samples samples(nvml);
  EXPECT_EQ(nvml("nvmlGpmSampleGet", nvml.gpu(), samples.first), NVML_SUCCESS);
  world.pass(kSecond);
  EXPECT_EQ(nvml("nvmlGpmSampleGet", nvml.gpu(), samples.second), NVML_SUCCESS);
  ASSERT_TRUE(add_fault(*world.sim, {.function = "nvmlGpmMetricsGet", .gpu = 0, .error = 999}));
  EXPECT_EQ(samples.compare({1}), NVML_ERROR_UNKNOWN);
  clear_faults(*world.sim);
  set_presence(*world.sim, 0, Presence::kLost);
  EXPECT_EQ(samples.compare({1}), NVML_ERROR_GPU_IS_LOST);
  set_presence(*world.sim, 0, Presence::kPresent);
  EXPECT_EQ(samples.compare({1}), NVML_SUCCESS);
}

}  // namespace
}  // namespace tranche::sim::telemetry_test
