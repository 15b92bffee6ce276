#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "agent/holdings/testing.h"
#include "offer/make_offer.h"
#include "support/fake_clock.h"
#include "support/machines.h"

// Conflicts between the wires: the device plugin and claims use the same GPUs.
namespace tranche::agent::book_test {
namespace {

using holdings::State;
using holdings::Use;
using holdings::Wire;
using namespace book_testing;  // NOLINT: the words of these tests
using test::gpu_uuid;
using testing::HasSubstr;

class BookTest : public testing::Test {
 protected:
  BookTest() { open(book_, machine_); }

  gpu::Machine machine_ = test::machine_of({test::l20(0), test::l20(1)});
  test::FakeClock clock_;
  Book book_{clock_};
};

TEST_F(BookTest, WhatOneWireHasReservedTheOtherIsRefused) {
  ASSERT_TRUE(book_.reserve(grant(gpu_uuid(0))));
  const auto refused = book_.reserve(claim(gpu_uuid(0)), machine_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("gpu-0 is held by the device plugin's containers"));
  EXPECT_TRUE(book_.claims().empty()) << "what is refused is not entered";
  book_.withdraw(grant(gpu_uuid(0)));
  ASSERT_TRUE(book_.reserve(claim(gpu_uuid(0)), machine_));
  const auto again = book_.reserve(grant(gpu_uuid(0)));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().what, HasSubstr("is held by claim team/half"));
  EXPECT_TRUE(book_.granted()->empty());
  EXPECT_TRUE(book_.reserve(grant(gpu_uuid(1)))) << "nobody holds the other one";
}

// Also where nothing of the device plugin's is withheld from it (onChange: asNvidia).
TEST_F(BookTest, ClaimsKeepTheirDevicesWhateverTheConfigurationSays) {
  ASSERT_TRUE(book_.reserve(claim(gpu_uuid(0)), machine_));
  book_.follow(offer::make_offer(machine_, {}, {}), machine_, false);
  EXPECT_FALSE(book_.reserve(grant(gpu_uuid(0))));
}

TEST_F(BookTest, WhatIsUsedWithoutAGrantIsThereAndRefusesNobody) {
  book_.follow(offer::make_offer(machine_, {}, {}), machine_, true);
  const auto before = book_.ungranted();
  const holdings::Holding thief{.device = gpu_uuid(0), .pod = "thief", .state = State::kInUse};
  book_.observe({thief});
  ASSERT_EQ(book_.all().size(), 1U);
  const auto used = *book_.all().begin();
  EXPECT_EQ(used.wire, Wire::kNone);
  EXPECT_EQ(used.gpu, gpu_uuid(0));
  EXPECT_NE(book_.ungranted(), before);
  const auto seen = book_.ungranted();
  book_.observe({thief});
  EXPECT_EQ(book_.ungranted(), seen) << "the same again is no change";
  EXPECT_TRUE(book_.granted()->empty());
  EXPECT_TRUE(book_.reserve(grant(gpu_uuid(0))));
  EXPECT_EQ(book_.all().size(), 2U);
  book_.observe({});
  EXPECT_EQ(book_.all().size(), 1U);
}

TEST_F(BookTest, TellsWhatBothWiresHold) {
  ASSERT_TRUE(book_.reserve(grant(gpu_uuid(0))));
  auto half = claim(gpu_uuid(1));
  half.devices[0].share_id = "s1";
  ASSERT_TRUE(book_.reserve(half, machine_));
  auto all = book_.all();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.all()[0].state, State::kReserved);
  EXPECT_EQ(all.all()[1].state, State::kReserved);
  book_.commit(grant(gpu_uuid(0)));
  book_.commit(half, machine_);
  book_.apply({.began = clock_.now() + std::chrono::seconds(1),
               .listed = {{"team", "a", "main", "nvidia.com/gpu", {gpu_uuid(0)}}},
               .remembered = std::vector<cluster::HeldDevices>()});
  all = book_.all();
  const holdings::Holding granted{.device = gpu_uuid(0),
                                  .gpu = gpu_uuid(0),
                                  .resource = {"nvidia.com/gpu"},
                                  .id = gpu_uuid(0),
                                  .ns = "team",
                                  .pod = "a",
                                  .container = "main",
                                  .state = State::kInUse};
  EXPECT_EQ(all.all()[0], granted);
  const holdings::Holding claimed{.device = gpu_uuid(1),
                                  .gpu = gpu_uuid(1),
                                  .wire = Wire::kClaim,
                                  .id = "gpu-0/s1",
                                  .claim = "half",
                                  .request = "gpu",
                                  .ns = "team",
                                  .use = Use::kTimeSliced};
  EXPECT_EQ(all.all()[1], claimed);
}

TEST_F(BookTest, DevicesForMonitoringAreNotHeld) {
  auto monitor = claim(gpu_uuid(0));
  monitor.devices[0].admin_access = true;
  ASSERT_TRUE(book_.reserve(monitor, machine_));
  EXPECT_TRUE(book_.all().empty());
  EXPECT_TRUE(book_.reserve(grant(gpu_uuid(0))));
}

// Allocate and NodePrepareResources for one GPU at once: exactly one of them gets it.
TEST_F(BookTest, OfTwoCallsForOneGpuByBothWiresOneGetsIt) {
  constexpr int kTimes = 10'000;
  const auto wanted = grant(gpu_uuid(0));
  const auto prepared = claim(gpu_uuid(0));
  std::barrier together(2);
  bool allocated = false;
  int by_claim = 0;
  std::thread kubelet([&] {
    for (int i = 0; i < kTimes; ++i) {
      together.arrive_and_wait();
      allocated = book_.reserve(wanted).has_value();
      if (allocated) book_.commit(wanted);
      together.arrive_and_wait();
      together.arrive_and_wait();
    }
  });
  int wrong = 0;
  for (int i = 0; i < kTimes; ++i) {
    together.arrive_and_wait();
    const bool given = book_.reserve(prepared, machine_).has_value();
    if (given) book_.commit(prepared, machine_);
    together.arrive_and_wait();
    by_claim += given ? 1 : 0;
    if (given == allocated || book_.all().size() != 1) ++wrong;
    if (given) book_.end(kUid);
    if (allocated) book_.withdraw(wanted);
    together.arrive_and_wait();
  }
  kubelet.join();
  EXPECT_EQ(wrong, 0);
  RecordProperty("by_claim", by_claim);
}

}  // namespace
}  // namespace tranche::agent::book_test
