// A driver that is not there, is too old, is replaced, goes and returns.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "contract/sim_machine.h"
#include "nvml/events.h"
#include "nvml/quiet_reset.h"
#include "nvml/reader.h"
#include "support/wait.h"

namespace tranche::nvml::nvml_driver_test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(NvmlDriver, ALibraryThatAppearsIsLoadedByTheSameReader) {
  test::SimMachine sim("t4");
  sim.install(sim.root().resolve("/machine.yaml"));  // a file that is no library
  Reader reader(Connection::make(sim.options()));
  const auto without = reader.read();
  ASSERT_FALSE(without.has_value());
  EXPECT_EQ(without.error().code, Code::kUnavailable);
  EXPECT_THAT(without.error().hint, HasSubstr("driver"));
  sim.install(TRANCHE_SIM_NVML);
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value()) << machine.error().message();
  EXPECT_EQ(machine->gpus[0].name, "Tesla T4");
}

TEST(NvmlDriver, EachStartErrorNamesItsRemedy) {
  struct Case {
    int error;
    const char* words;
    const char* remedy;
  };
  const Case cases[] = {{kDriverNotLoaded, "nvmlInit_v2: 9", "kernel modules"},
                        {kLibRmVersionMismatch, "nvmlInit_v2: 18", "reboot"},
                        {kNoPermission, "nvmlInit_v2: 4", "privileged"},
                        {kUnknown, "nvmlInit_v2: 999", "dmesg"}};
  for (const auto& c : cases) {
    test::SimMachine sim("l20");
    sim.set_driver_error(c.error);
    Reader reader(Connection::make(sim.options()));
    const auto machine = reader.read();
    ASSERT_FALSE(machine.has_value());
    EXPECT_EQ(machine.error().code, Code::kUnavailable);
    EXPECT_THAT(machine.error().what, HasSubstr(c.words));
    EXPECT_THAT(machine.error().hint, HasSubstr(c.remedy));
  }
}

TEST(NvmlDriver, ALeastDriverDegradesWithOneMessage) {
  test::SimMachine sim("l20");
  sim.install(TRANCHE_NVML_STUB);
  const auto connection = Connection::make(sim.options());
  Reader reader(connection);
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value()) << machine.error().message();
  ASSERT_THAT(machine->gpus, SizeIs(1));
  const auto& gpu = machine->gpus[0];
  EXPECT_EQ(gpu.uuid.value, "GPU-stub");
  EXPECT_EQ(gpu.name, "Tesla K80");
  EXPECT_EQ(gpu.memory, Bytes::from_mib(11441)) << "by the other memory call";
  EXPECT_EQ(machine->cuda_driver_version, 11040) << "by the first version of the call";
  EXPECT_EQ(gpu.minor, -1);
  EXPECT_EQ(gpu.mig_mode, gpu::MigMode::kUnsupported);
  EXPECT_EQ(gpu.recovery_action, std::nullopt);
  ASSERT_TRUE(reader.read().has_value());
  EXPECT_EQ(sim.log().count("lacks"), 1);
  EXPECT_EQ(sim.log().count("nvmlDeviceGetMigMode"), 1);

  EventSource events(connection);
  const auto subscription = events.subscribe(*machine);
  ASSERT_TRUE(subscription.has_value());
  EXPECT_THAT(subscription->unsupported, ElementsAre(gpu::GpuUuid{"GPU-stub"}));
  EXPECT_EQ(events.wait(1ms, {}), std::nullopt);
  const auto topology = reader.read_topology(*machine);
  ASSERT_TRUE(topology.has_value());
  EXPECT_EQ(topology->size(), 1U);
}

TEST(NvmlDriver, AReplacedLibraryIsLoadedAnew) {
  test::SimMachine sim("l20");
  Reader reader(Connection::make(sim.options()));
  EXPECT_EQ(reader.read()->gpus[0].name, "NVIDIA L20");
  sim.install(TRANCHE_NVML_STUB);
  EXPECT_EQ(reader.read()->gpus[0].name, "Tesla K80");
  sim.install(TRANCHE_SIM_NVML);
  EXPECT_EQ(reader.read()->gpus[0].name, "NVIDIA L20");
  EXPECT_EQ(sim.log().count("was replaced"), 2);
}

TEST(NvmlDriver, AReturnIsFoundWithAnEventSourceListening) {
  // NVML restarts only when the whole process has released it: reader and events continue together.
  test::SimMachine sim(test::a100_machine(2));
  const auto connection = Connection::make(sim.options());
  Reader reader(connection);
  EventSource events(connection);
  const auto before = reader.read();
  ASSERT_TRUE(before.has_value());
  ASSERT_TRUE(events.subscribe(*before).has_value());
  const std::weak_ptr<Session> old = connection->current();
  sim.set_driver_error(kDriverNotLoaded);
  EXPECT_FALSE(reader.read().has_value());
  EXPECT_TRUE(old.expired()) << "the event source holds on to the old session";
  sim.set_driver_error(0);
  EXPECT_EQ(reader.read(), before);
}

TEST(NvmlDriver, WhileAGpuIsLostNvmlIsStartedAfreshNowAndThen) {
  test::SimMachine sim(test::a100_machine(2));
  auto options = sim.options();
  const auto connection = Connection::make(options);
  Reader reader(connection);
  ASSERT_TRUE(reader.read().has_value());
  const std::weak_ptr<Session> first = connection->current();
  ASSERT_TRUE(reader.read().has_value());
  EXPECT_FALSE(first.expired()) << "all is well: nothing is restarted";
  sim.set_presence(1, sim::Presence::kLost);
  ASSERT_TRUE(reader.read().has_value());  // finds the loss
  const auto machine = reader.read();      // starts afresh (interval 0 in tests)
  ASSERT_TRUE(machine.has_value());
  EXPECT_TRUE(first.expired());
  ASSERT_THAT(machine->gpus, SizeIs(2));
  EXPECT_EQ(machine->gpus[1].presence, gpu::Presence::kLost) << "the description outlives it";
  EXPECT_THAT(machine->gpus[1].presence_reason, AllOf(Not(IsEmpty()), HasSubstr("15")));
}

TEST(NvmlDriver, LettingGoEndsTheSessionUntilItIsTakenBack) {
  test::SimMachine sim(test::a100_machine(1));
  const auto connection = Connection::make(sim.options());
  Reader reader(connection);
  EventSource events(connection);
  const auto before = reader.read();
  ASSERT_TRUE(before.has_value());
  ASSERT_TRUE(events.subscribe(*before).has_value());
  const std::weak_ptr<Session> old = connection->current();
  auto pause = connection->release_driver();
  ASSERT_TRUE(pause.has_value());
  EXPECT_TRUE(old.expired());
  std::atomic<bool> read = false;
  std::jthread other([&] {
    EXPECT_EQ(reader.read(), before);
    read = true;
  });
  EXPECT_EQ(connection->current(), nullptr);
  EXPECT_FALSE(read);
  pause->reset();
  other.join();
  EXPECT_TRUE(read);
}

// Looks at the process while a GPU is reset.
class WatchedReset final : public gpu::GpuReset {
 public:
  explicit WatchedReset(std::function<Result<void>()> look) : look_(std::move(look)) {}
  Result<void> reset(const gpu::PciAddress&) override { return look_(); }

 private:
  std::function<Result<void>()> look_;
};

TEST(NvmlDriver, AGpuIsResetWhileNothingOfThisProcessReadsIt) {
  test::SimMachine sim(test::a100_machine(1));
  const auto connection = Connection::make(sim.options());
  Reader reader(connection);
  const auto before = reader.read();
  ASSERT_TRUE(before.has_value());
  std::atomic<bool> read = false;
  std::jthread other;
  WatchedReset program([&]() -> Result<void> {
    // As the hardware reader's thread, which knows nothing of the reset.
    other = std::jthread([&] {
      EXPECT_EQ(reader.read(), before);
      read = true;
    });
    EXPECT_EQ(connection->current(), nullptr);
    EXPECT_FALSE(read);
    return fail(Code::kFailedPrecondition, "in use");
  });
  QuietReset reset(connection, program);
  EXPECT_EQ(reset.reset(before->gpus[0].pci).error().code, Code::kFailedPrecondition);
  other.join();
  EXPECT_TRUE(read);
}

TEST(NvmlDriver, ACallThatHangsCannotBeLetGoOf) {
  test::SimMachine sim(test::a100_machine(1));
  const auto connection = Connection::make(sim.options(1s));
  Reader reader(connection);
  ASSERT_TRUE(reader.read().has_value());
  sim.hang("nvmlDeviceGetName");
  sim.hang("nvmlDeviceGetMigMode");
  EXPECT_TRUE(reader.read().has_value());  // the GPU is unknown now, and a thread is stuck
  const auto pause = connection->release_driver();
  ASSERT_FALSE(pause.has_value());
  EXPECT_EQ(pause.error().code, Code::kTimeout);
  sim.heal();
  EXPECT_TRUE(test::eventually([&] { return connection->session().has_value(); }))
      << "a failure holds nobody up";
}

}  // namespace
}  // namespace tranche::nvml::nvml_driver_test
