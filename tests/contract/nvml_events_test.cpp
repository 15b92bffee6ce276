// The event source over the simulated machine: what it does beyond the contract.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "contract/sim_machine.h"
#include "nvml/events.h"
#include "nvml/reader.h"
#include "support/wait.h"

namespace tranche::nvml::nvml_events_test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

class NvmlEventsTest : public ::testing::Test {
 protected:
  gpu::Machine read() { return reader.read().value(); }

  test::SimMachine sim{test::a100_machine(2)};
  std::shared_ptr<Connection> connection = Connection::make(sim.options());
  Reader reader{connection};
  EventSource events{connection};
};

TEST_F(NvmlEventsTest, BeforeNvmlIsUpSubscribingFails) {
  const auto subscription = events.subscribe({});
  ASSERT_FALSE(subscription.has_value());
  EXPECT_EQ(subscription.error().code, Code::kUnavailable);
}

TEST_F(NvmlEventsTest, OtherEventsAreNotXids) {
  ASSERT_TRUE(events.subscribe(read()).has_value());
  sim::post_event(sim.sim(), {.type = kEventDoubleBitEcc, .gpu = 0});
  sim.xid(48, 0);
  const auto event = events.wait(20s, {});
  ASSERT_TRUE(event.has_value() && event->has_value());
  EXPECT_EQ(std::get<gpu::XidEvent>(**event).xid, 48U);
}

TEST_F(NvmlEventsTest, AStormIsKeptOnce) {
  ASSERT_TRUE(events.subscribe(read()).has_value());
  for (int i = 0; i < 100; ++i) sim.xid(63, 0);
  sim.xid(79, 1);  // the last one: when it is there, the storm is through
  std::size_t told = 0;
  ASSERT_TRUE(test::eventually([&] {
    const auto event = events.wait(20s, {});
    if (!event || !*event) return false;
    ++told;
    return std::get<gpu::XidEvent>(**event).xid == 79;
  }));
  // How many depends on when they are fetched, but what was not fetched is not kept twice.
  EXPECT_GE(told, 2U);
  EXPECT_LE(told, 101U);
  EXPECT_EQ(events.wait(1ms, {}), std::nullopt);
}

TEST_F(NvmlEventsTest, LostGpusAreNotListenedOn) {
  auto machine = read();
  sim.set_presence(0, sim::Presence::kLost);
  machine = read();
  const auto subscription = events.subscribe(machine);
  ASSERT_TRUE(subscription.has_value());
  EXPECT_THAT(subscription->failed, IsEmpty());
  EXPECT_THAT(subscription->unsupported, IsEmpty());
}

TEST_F(NvmlEventsTest, GoOnWhenNvmlIsStartedAfresh) {
  const auto machine = read();
  ASSERT_TRUE(events.subscribe(machine).has_value());
  const auto before = connection->current().get();
  connection->restart();
  EXPECT_EQ(read(), machine);
  EXPECT_TRUE(before != nullptr && connection->current() != nullptr);
  // NVML does not report events from before the new registration: post until one arrives.
  Result<std::optional<gpu::Event>> event;
  ASSERT_TRUE(test::eventually([&] {
    sim.xid(79, 1);
    event = events.wait(100ms, {});
    return !event.has_value() || event->has_value();
  }));
  ASSERT_TRUE(event.has_value()) << event.error().message();
  EXPECT_EQ(std::get<gpu::XidEvent>(**event).gpu, gpu::GpuUuid{sim.uuid(1)});
}

TEST_F(NvmlEventsTest, ARestartUnderWayIsWaitedFor) {
  ASSERT_TRUE(events.subscribe(read()).has_value());
  connection->restart();
  std::jthread later([&] { (void)read(); });  // only then there is a session again
  EXPECT_EQ(events.wait(20s, {}), std::nullopt);
  EXPECT_NE(connection->current(), nullptr);
}

TEST_F(NvmlEventsTest, WithoutADriverWaitingIsAnError) {
  ASSERT_TRUE(events.subscribe(read()).has_value());
  sim.set_driver_error(kDriverNotLoaded);
  ASSERT_FALSE(reader.read().has_value());
  ASSERT_TRUE(test::eventually([&] { return !events.wait(100ms, {}).has_value(); }));
  sim.set_driver_error(0);
  const auto machine = read();
  ASSERT_TRUE(events.subscribe(machine).has_value());
  sim.xid(79, 0);
  const auto event = events.wait(20s, {});
  ASSERT_TRUE(event.has_value() && event->has_value());
}

}  // namespace
}  // namespace tranche::nvml::nvml_events_test
