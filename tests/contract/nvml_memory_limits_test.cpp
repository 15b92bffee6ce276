// Memory limits that the driver keeps for control groups, over the simulated machine, and over the
// fake for what both promise. The groups are folders of the test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "arbiter/kernel/nvml_memory_limiter.h"
#include "contract/sim_machine.h"
#include "nvml/reader.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/uses.h"
#include "support/fake_memory_limiter.h"

namespace tranche::nvml::nvml_memory_limits_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// `count` GPUs, on a driver that has the limits unless `driver` says otherwise.
std::string machine(int count, const std::string& driver = "615.71.09",
                    const std::string& mig = "") {
  return "driver: {version: " + driver + ", cuda: \"13.5\"}\n" + test::a100_machine(count, mig);
}

class NvmlMemoryLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "the driver takes limits from root alone";
  }
  std::filesystem::path group(const std::string& name, pid_t member) const {
    const auto folder = dir.path() / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "cgroup.procs") << member << "\n";
    return folder;
  }
  test::TempDir dir;
};

TEST_F(NvmlMemoryLimitsTest, AreSetReadAndCleared) {
  test::SimMachine sim(machine(2));
  arbiter::NvmlMemoryLimiter limiter(Connection::make(sim.options()));
  const auto cgroup = group("container", 1);
  EXPECT_EQ(limiter.read(sim.uuid(0), cgroup).value(), (arbiter::CgroupMemory{}));
  const auto set = limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(500));
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(limiter.read(sim.uuid(0), cgroup).value().hard, Bytes::from_mib(500));
  EXPECT_EQ(limiter.read(sim.uuid(1), cgroup).value().hard, std::nullopt);
  ASSERT_TRUE(limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(700)));
  EXPECT_EQ(limiter.read(sim.uuid(0), cgroup).value().hard, Bytes::from_mib(700));
  ASSERT_TRUE(limiter.set(sim.uuid(0), cgroup, std::nullopt));
  EXPECT_EQ(limiter.read(sim.uuid(0), cgroup).value().hard, std::nullopt);
}

TEST_F(NvmlMemoryLimitsTest, WhatIsMoreThanTheGpuHasIsNoLimit) {
  test::SimMachine sim(machine(1));
  arbiter::NvmlMemoryLimiter limiter(Connection::make(sim.options()));
  const auto cgroup = group("container", 1);
  ASSERT_TRUE(limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(40960)));
  EXPECT_EQ(limiter.read(sim.uuid(0), cgroup).value().hard, std::nullopt);
}

TEST_F(NvmlMemoryLimitsTest, ProcessesOfTheGroupAreHeldWhateverTheyLoad) {
  test::SimMachine sim(machine(1));
  arbiter::NvmlMemoryLimiter limiter(Connection::make(sim.options()));
  const auto cgroup = group("container", 1);
  group("container/child", ::getpid());
  ASSERT_TRUE(limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(500)));
  auto* slot = sim.sim().claim_slot("program").value();
  sim::Use& use = *sim::add_use(sim.sim(), *slot, {.gpu = 0}).value();
  EXPECT_TRUE(sim::take_memory(sim.sim(), use, 400U << 20U));
  EXPECT_FALSE(sim::take_memory(sim.sim(), use, 101U << 20U));
  EXPECT_EQ(limiter.read(sim.uuid(0), cgroup).value(),
            (arbiter::CgroupMemory{Bytes::from_mib(500), Bytes::from_mib(400)}));
  ASSERT_TRUE(limiter.set(sim.uuid(0), cgroup, std::nullopt));
  EXPECT_TRUE(sim::take_memory(sim.sim(), use, 101U << 20U));
  // A limit goes with its group.
  ASSERT_TRUE(limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(500)));
  std::filesystem::remove_all(cgroup);
  EXPECT_TRUE(sim::take_memory(sim.sim(), use, 100U << 20U));
  sim.sim().release_slot(slot);
}

TEST_F(NvmlMemoryLimitsTest, EachRefusalSaysWhatToDo) {
  struct Case {
    const char* name;
    Return result;
    Code code;
    const char* hint;
  };
  const Case cases[] = {
      {"permission", kNoPermission, Code::kPermission, "CAP_SYS_ADMIN"},
      {"hardware", kNotSupported, Code::kUnsupported, "remove kernelLimits"},
      {"older driver", kFunctionNotFound, Code::kUnsupported, "r615"},
      {"no dmem", kNotFound, Code::kNotFound, "+dmem"},
      {"no such folder", kOperatingSystem, Code::kNotFound, "--cgroup-root"},
      {"argument", kInvalidArgument, Code::kInvalidArgument, "dmesg"},
      {"unknown", kUnknown, Code::kUnavailable, "dmesg"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    test::SimMachine sim(machine(1));
    sim.fail("nvmlDeviceSetMemoryLimits_v1", c.result);
    arbiter::NvmlMemoryLimiter limiter(Connection::make(sim.options()));
    const auto set = limiter.set(sim.uuid(0), group("container", 1), Bytes::from_mib(500));
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, c.code);
    EXPECT_THAT(set.error().what, HasSubstr("nvmlDeviceSetMemoryLimits_v1"));
    EXPECT_THAT(set.error().hint, HasSubstr(c.hint));
  }
}

TEST_F(NvmlMemoryLimitsTest, AFolderThatIsNotThereIsRefused) {
  test::SimMachine sim(machine(1));
  arbiter::NvmlMemoryLimiter limiter(Connection::make(sim.options()));
  const auto set = limiter.set(sim.uuid(0), dir.path() / "nowhere", Bytes::from_mib(500));
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kNotFound);
}

TEST_F(NvmlMemoryLimitsTest, ALimitThatIsTakenAndNotKeptIsAFailure) {
  test::SimMachine sim(machine(1));
  sim.fail("nvmlDeviceGetMemoryLimits_v1", kNotFound);
  arbiter::NvmlMemoryLimiter limiter(Connection::make(sim.options()));
  const auto set = limiter.set(sim.uuid(0), group("container", 1), Bytes::from_mib(500));
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().what, HasSubstr("nvmlDeviceGetMemoryLimits_v1"));
}

TEST_F(NvmlMemoryLimitsTest, AGpuThatHangsIsGivenUp) {
  test::SimMachine sim(machine(2));
  sim.hang("nvmlDeviceSetMemoryLimits_v1", 0);
  arbiter::NvmlMemoryLimiter limiter(Connection::make(sim.options(500ms)));
  const auto cgroup = group("container", 1);
  const auto stuck = limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(500));
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().code, Code::kTimeout);
  EXPECT_TRUE(limiter.set(sim.uuid(1), cgroup, Bytes::from_mib(500)));
  sim.heal();
}

TEST_F(NvmlMemoryLimitsTest, TheDriverGoesAndReturns) {
  test::SimMachine sim(machine(1));
  arbiter::NvmlMemoryLimiter limiter(Connection::make(sim.options()));
  const auto cgroup = group("container", 1);
  ASSERT_TRUE(limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(500)));
  sim.set_driver_error(kDriverNotLoaded);
  EXPECT_EQ(limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(500)).error().code,
            Code::kUnavailable);
  EXPECT_EQ(limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(500)).error().code,
            Code::kUnavailable);
  sim.set_driver_error(0);
  EXPECT_TRUE(limiter.set(sim.uuid(0), cgroup, Bytes::from_mib(500)));
}

// What the fake and the adapter both promise.
TEST_F(NvmlMemoryLimitsTest, ContractOfSettingAndClearing) {
  test::SimMachine sim(machine(1));
  arbiter::NvmlMemoryLimiter adapter(Connection::make(sim.options()));
  test::FakeMemoryLimiter fake;
  const auto cgroup = group("container", 1);
  for (arbiter::MemoryLimiter* limiter : {static_cast<arbiter::MemoryLimiter*>(&adapter),
                                          static_cast<arbiter::MemoryLimiter*>(&fake)}) {
    ASSERT_TRUE(limiter->set(sim.uuid(0), cgroup, Bytes::from_mib(5)));
    EXPECT_EQ(limiter->read(sim.uuid(0), cgroup).value().hard, Bytes::from_mib(5));
    ASSERT_TRUE(limiter->set(sim.uuid(0), cgroup, std::nullopt));
    EXPECT_EQ(limiter->read(sim.uuid(0), cgroup).value().hard, std::nullopt);
  }
}

// Limits of running containers must survive one bad answer.
TEST(NvmlMemoryLimitsOfGpus, StayAsTheyWereWhileTheAnswerIsAnError) {
  test::SimMachine sim(machine(1));
  sim.put("/sys/fs/cgroup/cgroup.controllers", "dmem\n");
  Reader reader(Connection::make(sim.options()));
  ASSERT_TRUE(reader.read().value().gpus[0].kernel_memory_limits);
  sim.fail("nvmlDeviceGetMemoryLimits_v1", kUnknown);
  EXPECT_TRUE(reader.read().value().gpus[0].kernel_memory_limits);
  sim.heal();
  sim.fail("nvmlDeviceGetMemoryLimits_v1", kNotSupported);
  EXPECT_FALSE(reader.read().value().gpus[0].kernel_memory_limits);
}

struct CanCase {
  const char* name;
  std::string machine;
  Return failure;  // of the question
  bool expected;
  bool warned;
};

TEST(NvmlMemoryLimitsOfGpus, AreReadWithTheHardware) {
  const CanCase cases[] = {
      {"r615", machine(1), kSuccess, true, false},
      {"older driver", machine(1, "570.158.01"), kSuccess, false, false},
      {"MIG mode", machine(1, "615.71.09", "    mig: {enabled: true, instances: [1g.5gb]}\n"),
       kSuccess, false, false},
      {"older hardware", machine(1), kNotSupported, false, false},
      {"no cgroup v2", machine(1), kOperatingSystem, false, false},
      {"something else", machine(1), kUnknown, false, true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    test::SimMachine sim(c.machine);
    sim.put("/sys/fs/cgroup/cgroup.controllers", "dmem\n");
    if (c.failure != kSuccess) sim.fail("nvmlDeviceGetMemoryLimits_v1", c.failure);
    Reader reader(Connection::make(sim.options()));
    const auto read = reader.read();
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->gpus[0].kernel_memory_limits, c.expected);
    const auto says_unknown = [](const std::string& line) {
      return line.find("whether the kernel can limit its memory is unknown") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::any_of(read->warnings, says_unknown), c.warned);
  }
}

}  // namespace
}  // namespace tranche::nvml::nvml_memory_limits_test
