// What every gpu::EventSource promises: the same cases on the fake and on the adapter over the
// simulated machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "contract/sim_machine.h"
#include "nvml/events.h"
#include "nvml/reader.h"
#include "support/fake_events.h"
#include "support/machines.h"

namespace tranche::events_contract_test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

class Bench {
 public:
  virtual ~Bench() = default;
  virtual gpu::EventSource& events() = 0;
  virtual gpu::Machine machine() = 0;
  virtual void xid(std::uint64_t xid, unsigned gpu, std::optional<int> gpu_instance,
                   std::optional<int> compute_instance) = 0;
  virtual void change_layout(unsigned gpu) = 0;
};

class FakeBench final : public Bench {
 public:
  gpu::EventSource& events() override { return events_; }
  gpu::Machine machine() override { return test::machine_of(2, test::a100_40gb); }
  void xid(std::uint64_t xid, unsigned gpu, std::optional<int> gpu_instance,
           std::optional<int> compute_instance) override {
    events_.post({.xid = xid,
                  .gpu = gpu::GpuUuid{test::gpu_uuid(static_cast<int>(gpu))},
                  .gpu_instance_id = gpu_instance,
                  .compute_instance_id = compute_instance});
  }
  void change_layout(unsigned gpu) override {
    events_.change_layout(test::gpu_uuid(static_cast<int>(gpu)));
  }

 private:
  test::FakeEvents events_;
};

class SimBench final : public Bench {
 public:
  gpu::EventSource& events() override { return events_; }
  gpu::Machine machine() override { return reader_.read().value(); }
  void xid(std::uint64_t xid, unsigned gpu, std::optional<int> gpu_instance,
           std::optional<int> compute_instance) override {
    const auto to_unsigned = [](std::optional<int> id) {
      return id ? std::optional(static_cast<unsigned>(*id)) : std::nullopt;
    };
    machine_.xid(xid, gpu, to_unsigned(gpu_instance), to_unsigned(compute_instance));
  }
  void change_layout(unsigned gpu) override {
    sim::post_event(machine_.sim(), {.type = nvml::kEventMigConfigChange, .gpu = gpu});
  }

 private:
  test::SimMachine machine_{test::a100_machine(2)};
  std::shared_ptr<nvml::Connection> connection_ = nvml::Connection::make(machine_.options());
  nvml::Reader reader_{connection_};
  nvml::EventSource events_{connection_};
};

enum class Kind { kFake, kSimulated };

class EventsContract : public ::testing::TestWithParam<Kind> {
 protected:
  std::optional<gpu::Event> wait(std::chrono::milliseconds timeout = 20s) {
    auto event = bench->events().wait(timeout, {});
    EXPECT_TRUE(event.has_value()) << event.error().message();
    return event.value_or(std::nullopt);
  }

  std::unique_ptr<Bench> bench = GetParam() == Kind::kFake
                                     ? std::unique_ptr<Bench>(std::make_unique<FakeBench>())
                                     : std::make_unique<SimBench>();
};

TEST_P(EventsContract, DeliversXidsWithWhereTheyHappened) {
  const auto machine = bench->machine();
  const auto subscription = bench->events().subscribe(machine);
  ASSERT_TRUE(subscription.has_value()) << subscription.error().message();
  EXPECT_THAT(subscription->unsupported, IsEmpty());
  EXPECT_THAT(subscription->failed, IsEmpty());
  struct Case {
    const char* name;
    std::uint64_t xid;
    unsigned gpu;
    std::optional<int> gpu_instance;
    std::optional<int> compute_instance;
  };
  const Case cases[] = {{"a GPU", 79, 1, std::nullopt, std::nullopt},
                        {"a GPU instance", 94, 0, 3, std::nullopt},
                        {"a compute instance", 94, 0, 3, 1}};
  for (const auto& c : cases) {
    bench->xid(c.xid, c.gpu, c.gpu_instance, c.compute_instance);
    EXPECT_EQ(wait(), gpu::Event(gpu::XidEvent{.xid = c.xid,
                                               .gpu = machine.gpus[c.gpu].uuid,
                                               .gpu_instance_id = c.gpu_instance,
                                               .compute_instance_id = c.compute_instance}))
        << c.name;
  }
}

TEST_P(EventsContract, KeepsOrderAndWhatComesBetweenWaits) {
  const auto machine = bench->machine();
  ASSERT_TRUE(bench->events().subscribe(machine).has_value());
  for (const unsigned xid : {79U, 48U, 63U}) bench->xid(xid, 0, {}, {});
  for (const unsigned xid : {79U, 48U, 63U}) {
    const auto event = wait();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(std::get<gpu::XidEvent>(*event).xid, xid);
  }
}

TEST_P(EventsContract, DeliversChangesOfALayout) {
  const auto machine = bench->machine();
  ASSERT_TRUE(bench->events().subscribe(machine).has_value());
  bench->change_layout(1);
  EXPECT_EQ(wait(), gpu::Event(gpu::LayoutEvent{machine.gpus[1].uuid}));
}

TEST_P(EventsContract, ReturnsNothingWhenTheTimeIsOver) {
  ASSERT_TRUE(bench->events().subscribe(bench->machine()).has_value());
  EXPECT_EQ(wait(1ms), std::nullopt);
}

TEST_P(EventsContract, AStopRequestEndsAWait) {
  ASSERT_TRUE(bench->events().subscribe(bench->machine()).has_value());
  std::stop_source stop;
  const std::jthread stopper([&] { stop.request_stop(); });
  const auto event = bench->events().wait(1h, stop.get_token());
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(*event, std::nullopt);
}

TEST_P(EventsContract, WaitingWithoutSubscribingIsAnError) {
  const auto event = bench->events().wait(1ms, {});
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().code, Code::kFailedPrecondition);
}

TEST_P(EventsContract, SubscribingAgainReplaces) {
  const auto machine = bench->machine();
  ASSERT_TRUE(bench->events().subscribe(machine).has_value());
  ASSERT_TRUE(bench->events().subscribe(machine).has_value());
  bench->xid(79, 0, {}, {});
  EXPECT_TRUE(wait().has_value());
  EXPECT_EQ(wait(1ms), std::nullopt) << "told once";
}

INSTANTIATE_TEST_SUITE_P(Sources, EventsContract, ::testing::Values(Kind::kFake, Kind::kSimulated),
                         [](const auto& tested) {
                           return tested.param == Kind::kFake ? "Fake" : "Simulated";
                         });

}  // namespace
}  // namespace tranche::events_contract_test
