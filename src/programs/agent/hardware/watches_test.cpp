// HardwareWatch and XidWatch with fakes of their ports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "agent/hardware/hardware_watch.h"
#include "agent/hardware/xid_watch.h"
#include "support/fake_events.h"
#include "support/fake_reader.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/wait.h"

namespace tranche::agent::watches_test {
namespace {

using std::chrono::milliseconds;

template <class T>
class Gathered {
 public:
  void add(T value) {
    const std::scoped_lock lock(mutex_);
    values_.push_back(std::move(value));
  }
  std::vector<T> all() const {
    const std::scoped_lock lock(mutex_);
    return values_;
  }
  bool reaches(std::size_t count) const {
    return test::eventually([&] { return all().size() >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<T> values_;
};

struct HardwareParts {
  Gathered<Result<gpu::Machine>> readings;
  Gathered<offer::Links> links;

  HardwareWatch::Callbacks callbacks() {
    return {.reading = [this](Result<gpu::Machine> m) { readings.add(std::move(m)); },
            .links = [this](offer::Links l) { links.add(std::move(l)); }};
  }
};

TEST(HardwareWatch, ReadsAtIntervals) {
  test::FakeReader reader(test::machine_of({test::l20(0)}));
  HardwareParts parts;
  const HardwareWatch watch(reader, milliseconds(1), {}, parts.callbacks());
  ASSERT_TRUE(parts.readings.reaches(3));
  EXPECT_EQ(parts.readings.all()[2]->gpus.size(), 1U);
}

TEST(HardwareWatch, ReadsNowWhenAsked) {
  test::FakeReader reader(test::machine_of({test::l20(0)}));
  HardwareParts parts;
  HardwareWatch watch(reader, std::chrono::hours(1), {}, parts.callbacks());
  watch.read_now();
  EXPECT_TRUE(parts.readings.reaches(1));
}

TEST(HardwareWatch, HandsOnFailuresAndGoesOn) {
  test::FakeReader reader(test::machine_of({test::l20(0)}));
  reader.fail_with({Code::kUnavailable, "driver not loaded"});
  HardwareParts parts;
  const HardwareWatch watch(reader, milliseconds(1), {}, parts.callbacks());
  ASSERT_TRUE(parts.readings.reaches(1));
  EXPECT_FALSE(parts.readings.all()[0]);
  reader.recover();
  EXPECT_TRUE(test::eventually([&] { return parts.readings.all().back().has_value(); }));
}

TEST(HardwareWatch, ReadsLinksOncePerSetOfGpus) {
  const auto two = test::machine_of({test::l20(0), test::l20(1)});
  test::FakeReader reader(two, gpu::Topology(2));
  HardwareParts parts;
  const HardwareWatch watch(reader, milliseconds(1), two, parts.callbacks());
  ASSERT_TRUE(parts.readings.reaches(5));
  ASSERT_EQ(parts.links.all().size(), 1U);
  EXPECT_EQ(parts.links.all()[0].gpu_uuids,
            (std::vector<std::string>{test::gpu_uuid(0), test::gpu_uuid(1)}));
  reader.set_machine(test::machine_of({test::l20(0), test::l20(1), test::l20(2)}),
                     gpu::Topology(3));
  EXPECT_TRUE(parts.links.reaches(2));
}

TEST(HardwareWatch, ReadsLinksAgainUntilAllAreKnown) {
  const auto two = test::machine_of({test::l20(0), test::l20(1)});
  test::FakeReader reader(two, gpu::Topology(2));
  HardwareParts parts;
  const HardwareWatch watch(reader, milliseconds(1), two, parts.callbacks());
  ASSERT_TRUE(parts.links.reaches(1));
  gpu::Topology known(2);
  known.set(0, 1, {.level = gpu::P2pLevel::kNode});
  reader.set_machine(two, known);
  ASSERT_TRUE(parts.links.reaches(2));
  EXPECT_EQ(parts.links.all()[1].topology, known);
}

TEST(HardwareWatch, ReadsLinksAgainNowAndThen) {
  const auto two = test::machine_of({test::l20(0), test::l20(1)});
  gpu::Topology down(2);
  down.set(0, 1, {.level = gpu::P2pLevel::kNode});
  test::FakeReader reader(two, down);
  HardwareParts parts;
  const HardwareWatch watch(reader, milliseconds(1), two, parts.callbacks());
  ASSERT_TRUE(parts.links.reaches(1));
  auto up = down;
  for (const std::size_t gpu : {0, 1}) up.set_switch_links(gpu, 12);
  reader.set_machine(two, up);
  ASSERT_TRUE(parts.links.reaches(2));
  EXPECT_EQ(parts.links.all()[1].topology, up);
  // A GPU that did not answer says nothing about its links.
  reader.set_machine(two, gpu::Topology(2));
  const auto before = parts.readings.all().size();
  ASSERT_TRUE(parts.readings.reaches(before + 40));
  EXPECT_EQ(parts.links.all().size(), 2U);
}

class XidWatchTest : public testing::Test {
 protected:
  std::unique_ptr<XidWatch> watch() {
    return std::make_unique<XidWatch>(
        events_,
        XidWatch::Callbacks{
            .event = [this](gpu::XidEvent e) { seen_.add(std::move(e)); },
            .layout = [this] { layouts_.add(0); },
            .deaf = [this](std::vector<gpu::GpuUuid> d) { deaf_.add(std::move(d)); }},
        log_.log(), Backoff{milliseconds(1), milliseconds(4)});
  }

  test::FakeEvents events_;
  test::LogRecorder log_;
  Gathered<gpu::XidEvent> seen_;
  Gathered<int> layouts_;
  Gathered<std::vector<gpu::GpuUuid>> deaf_;
  const gpu::Machine machine_ = test::machine_of({test::l20(0), test::t4(1)});
};

TEST_F(XidWatchTest, HandsOnEvents) {
  const auto watching = watch();
  watching->follow(machine_);
  events_.post({.xid = 79, .gpu = gpu::GpuUuid{test::gpu_uuid(0)}});
  events_.post({.xid = 48});
  ASSERT_TRUE(seen_.reaches(2));
  EXPECT_EQ(seen_.all()[0].xid, 79U);
}

TEST_F(XidWatchTest, AChangedLayoutIsNoError) {
  const auto watching = watch();
  watching->follow(machine_);
  events_.change_layout(test::gpu_uuid(0));
  events_.post({.xid = 48});
  ASSERT_TRUE(seen_.reaches(1));
  EXPECT_EQ(layouts_.all().size(), 1U);
}

TEST_F(XidWatchTest, ReportsWhichGpusCannotBeObserved) {
  events_.make_failing(test::gpu_uuid(1));
  events_.make_unsupported(test::gpu_uuid(0));
  const auto watching = watch();
  watching->follow(machine_);
  ASSERT_TRUE(deaf_.reaches(1));
  ASSERT_EQ(deaf_.all()[0].size(), 1U);
  EXPECT_EQ(deaf_.all()[0][0].value, test::gpu_uuid(1));
}

TEST_F(XidWatchTest, BacksOffSubscribesAnewAndComplainsOnce) {
  const auto watching = watch();
  watching->follow(machine_);
  ASSERT_TRUE(test::eventually([&] { return events_.waits() > 0; }));
  events_.refuse(Error{Code::kUnavailable, "driver is gone"});
  events_.break_waiting({Code::kUnavailable, "wait failed"});
  ASSERT_TRUE(test::eventually([&] { return events_.subscriptions().size() > 4; }));
  EXPECT_EQ(log_.count("driver is gone"), 1);
  events_.refuse(std::nullopt);
  events_.post({.xid = 79});
  EXPECT_TRUE(seen_.reaches(1));
}

TEST_F(XidWatchTest, WithoutAMachineItWaits) {
  {
    const auto watching = watch();
  }
  EXPECT_TRUE(events_.subscriptions().empty());
}

}  // namespace
}  // namespace tranche::agent::watches_test
