// NVML calls that do not return.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/sim_machine.h"
#include "nvml/events.h"
#include "nvml/reader.h"
#include "support/wait.h"

namespace tranche::nvml::nvml_hang_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Long enough for a call that does not hang on a busy machine.
constexpr std::chrono::milliseconds kDeadline{1000};

TEST(NvmlHang, AtTheWholeMachineItIsATimeoutUntilTheCallReturns) {
  for (const char* function : {"nvmlInit_v2", "nvmlDeviceGetCount_v2"}) {
    test::SimMachine sim(test::a100_machine(2));
    const auto connection = Connection::make(sim.options(kDeadline));
    Reader reader(connection);
    sim.hang(function);
    for (int i = 0; i < 3; ++i) {
      const auto machine = reader.read();
      ASSERT_FALSE(machine.has_value()) << function;
      EXPECT_EQ(machine.error().code, Code::kTimeout);
      EXPECT_THAT(machine.error().what, HasSubstr(function));
      EXPECT_EQ(connection->pool().stuck(), 1U) << "not asked again while it hangs";
    }
    sim.heal();
    ASSERT_TRUE(test::eventually([&] { return connection->pool().stuck() == 0; }));
    const auto machine = reader.read();
    ASSERT_TRUE(machine.has_value()) << machine.error().message();
    EXPECT_THAT(machine->gpus, SizeIs(2));
  }
}

TEST(NvmlHang, AtAnyCallAboutAGpuOnlyThatGpuIsUnknown) {
  for (const char* function :
       {"nvmlDeviceGetUUID", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMigMode",
        "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetFieldValues"}) {
    test::SimMachine sim(test::a100_machine(3));
    const auto connection = Connection::make(sim.options(kDeadline));
    Reader reader(connection);
    const auto before = reader.read();
    ASSERT_TRUE(before.has_value());
    sim.hang(function, 1);
    for (int i = 0; i < 2; ++i) {
      const auto machine = reader.read();
      ASSERT_TRUE(machine.has_value()) << function;
      EXPECT_THAT(machine->gpus, ElementsAre(Field(&gpu::Gpu::presence, gpu::Presence::kPresent),
                                             Field(&gpu::Gpu::presence, gpu::Presence::kUnknown),
                                             Field(&gpu::Gpu::presence, gpu::Presence::kPresent)))
          << function;
      EXPECT_THAT(machine->gpus[1].presence_reason, HasSubstr(function));
      EXPECT_EQ(connection->pool().stuck(), 1U) << function;
    }
    sim.heal();
    ASSERT_TRUE(test::eventually([&] { return connection->pool().stuck() == 0; }));
    EXPECT_EQ(reader.read(), before) << function;
  }
}

TEST(NvmlHang, EveryGpuAtOnce) {
  test::SimMachine sim("a100-80gb-x8");
  const auto connection = Connection::make(sim.options(kDeadline));
  Reader reader(connection);
  ASSERT_TRUE(reader.read().has_value());
  sim.hang("nvmlDeviceGetMemoryInfo");
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_THAT(machine->gpus, SizeIs(8));
  EXPECT_THAT(machine->gpus, ::testing::Each(Field(&gpu::Gpu::presence, gpu::Presence::kUnknown)));
  EXPECT_EQ(connection->pool().stuck(), 8U);
  sim.heal();
  ASSERT_TRUE(test::eventually([&] { return connection->pool().stuck() == 0; }));
  EXPECT_THAT(reader.read()->gpus,
              ::testing::Each(Field(&gpu::Gpu::presence, gpu::Presence::kPresent)));
}

TEST(NvmlHang, TheReaderMayGoWhileACallHangs) {
  test::SimMachine sim(test::a100_machine(2));
  {
    Reader reader(Connection::make(sim.options(kDeadline)));
    sim.hang("nvmlDeviceGetName", 0);
    ASSERT_TRUE(reader.read().has_value());
  }
  sim.heal();
  // A later user of NVML in this process is not disturbed by the stuck thread.
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_THAT(machine->gpus, SizeIs(2));
}

TEST(NvmlHang, InTopologyTheRestIsKnown) {
  test::SimMachine sim(test::a100_machine(3));
  const auto connection = Connection::make(sim.options(kDeadline));
  Reader reader(connection);
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  sim.hang("nvmlDeviceGetTopologyCommonAncestor", 0);
  const auto topology = reader.read_topology(*machine);
  ASSERT_TRUE(topology.has_value());
  EXPECT_EQ(topology->at(0, 1).level, gpu::P2pLevel::kUnknown);
  EXPECT_NE(topology->at(1, 2).level, gpu::P2pLevel::kUnknown);
  sim.heal();
  ASSERT_TRUE(test::eventually([&] { return connection->pool().stuck() == 0; }));
}

TEST(NvmlHang, WaitingForEventsIsAnErrorAndNotABlockedCaller) {
  test::SimMachine sim(test::a100_machine(1));
  const auto connection = Connection::make(sim.options(kDeadline));
  Reader reader(connection);
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EventSource events(connection);
  sim.hang("nvmlEventSetWait_v2");
  ASSERT_TRUE(events.subscribe(*machine).has_value());
  Result<std::optional<gpu::Event>> event;
  ASSERT_TRUE(test::eventually([&] {
    event = events.wait(100ms, {});
    return !event.has_value();
  }));
  EXPECT_EQ(event.error().code, Code::kTimeout);
  EXPECT_THAT(event.error().what, HasSubstr("nvmlEventSetWait_v2"));
  sim.heal();
  ASSERT_TRUE(events.subscribe(*machine).has_value());
  sim.xid(79, 0);
  event = events.wait(20s, {});
  ASSERT_TRUE(event.has_value());
  EXPECT_TRUE(event->has_value());
}

TEST(NvmlHang, RegisteringAGpuThatHangsFailsForThatGpu) {
  test::SimMachine sim(test::a100_machine(2));
  const auto connection = Connection::make(sim.options(kDeadline));
  Reader reader(connection);
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EventSource events(connection);
  sim.hang("nvmlDeviceRegisterEvents", 0);
  const auto subscription = events.subscribe(*machine);
  ASSERT_TRUE(subscription.has_value());
  EXPECT_THAT(subscription->failed, ElementsAre(gpu::GpuUuid{sim.uuid(0)}));
  sim.xid(79, 1);
  const auto event = events.wait(20s, {});
  ASSERT_TRUE(event.has_value());
  ASSERT_TRUE(event->has_value());
  EXPECT_EQ(std::get<gpu::XidEvent>(**event).gpu, gpu::GpuUuid{sim.uuid(1)});
  sim.heal();
  ASSERT_TRUE(test::eventually([&] { return connection->pool().stuck() == 0; }));
}

}  // namespace
}  // namespace tranche::nvml::nvml_hang_test
