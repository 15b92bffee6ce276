#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "agent/holdings/book.h"
#include "support/fake_clock.h"
#include "support/machines.h"

namespace tranche::agent::book_claims_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

dra::PreparedClaim claim_on(const std::string& uuid, const std::string& uid = "u1") {
  dra::PreparedClaim claim{.ns = "team", .name = "half", .uid = uid, .boot = "b"};
  claim.devices.push_back({.request = "gpu", .pool = "p", .device = "gpu-0", .uuid = uuid});
  return claim;
}

TEST(BookClaimsTest, TakesClaimsOnlyWhileItIsOpen) {
  const auto machine = test::machine_of(2, test::l20);
  const auto uuid = machine.gpus[0].uuid.value;
  test::FakeClock clock;
  Book book(clock);
  const auto closed = book.reserve(claim_on(uuid), machine);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kUnavailable);
  EXPECT_THAT(closed.error().message(), HasSubstr("tranche.dev/mode=dra"));
  book.open(true);
  ASSERT_TRUE(book.reserve(claim_on(uuid), machine));
  book.open(false);
  EXPECT_EQ(book.claim_on(uuid), "team/half");
  EXPECT_EQ(book.claim_on(machine.gpus[1].uuid.value), std::nullopt);
  book.end("u1");
  EXPECT_EQ(book.claim_on(uuid), std::nullopt);
}

TEST(BookClaimsTest, AGpuHoldsItsInstancesAndAnInstanceItsGpu) {
  auto machine = test::machine_of({test::l20(0)});
  machine.gpus[0].mig_instances = {{.uuid = {"MIG-a"}}, {.uuid = {"MIG-b"}}};
  const auto gpu = machine.gpus[0].uuid.value;
  test::FakeClock clock;
  Book book(clock);
  book.open(true);
  ASSERT_TRUE(book.reserve(claim_on("MIG-a"), machine));
  EXPECT_TRUE(book.claim_on(gpu));
  EXPECT_FALSE(book.claim_on("MIG-b"));
}

TEST(BookClaimsTest, TellsWhichClaimsHaveADeviceItself) {
  auto machine = test::machine_of({test::l20(0)});
  machine.gpus[0].mig_instances = {{.uuid = {"MIG-a"}}, {.uuid = {"MIG-b"}}};
  const auto gpu = machine.gpus[0].uuid.value;
  test::FakeClock clock;
  Book book(clock);
  book.open(true);
  EXPECT_EQ(book.claims_of({gpu}), std::nullopt);
  book.restore({}, machine);
  ASSERT_TRUE(book.reserve(claim_on("MIG-a"), machine));
  EXPECT_EQ(book.claims_of({"MIG-a"})->size(), 1U);
  EXPECT_EQ(book.claims_of({gpu, "MIG-b"})->size(), 0U) << "the rest of its GPU may change";
  auto place = claim_on("MIG-b", "u2");
  place.devices[0].place = {{gpu}, 19, {0, 1}};
  ASSERT_TRUE(book.reserve(place, machine));
  EXPECT_EQ(book.claims_of({gpu})->size(), 1U);
  place.devices[0].admin_access = true;
  book.end("u2");
  ASSERT_TRUE(book.reserve(place, machine));
  EXPECT_EQ(book.claims_of({gpu})->size(), 0U);
}

// A made instance has a UUID that was unknown when the claim was entered.
TEST(BookClaimsTest, AMadeInstanceIsKnownByItsUuid) {
  auto machine = test::machine_of({test::l20(0)});
  machine.gpus[0].mig_instances = {{.uuid = {"MIG-a"}}, {.uuid = {"MIG-b"}}};
  const auto gpu = machine.gpus[0].uuid;
  auto claim = claim_on("");
  claim.devices[0].place = {gpu, 19, {0, 1}};
  EXPECT_THAT(silicon_of(claim.devices[0], holdings::Silicon(machine)),
              UnorderedElementsAre(gpu.value, "MIG-a", "MIG-b"));
  test::FakeClock clock;
  Book book(clock);
  book.open(true);
  ASSERT_TRUE(book.reserve(claim, machine));
  EXPECT_TRUE(book.claim_on(gpu.value));
  dra::fill_uuid(claim.devices[0], "MIG-a");
  book.commit(claim, machine);
  EXPECT_TRUE(book.claim_on(gpu.value));
  EXPECT_TRUE(book.claim_on("MIG-a"));
  EXPECT_FALSE(book.claim_on("MIG-b"));
  book.end("u1");
  book.commit(claim, machine);
  EXPECT_FALSE(book.claim_on("MIG-a")) << "it has ended meanwhile";
}

TEST(BookClaimsTest, AfterAStartItHasWhatIsStoredAndWhatIsBegun) {
  const auto machine = test::machine_of(3, test::l20);
  test::FakeClock clock;
  Book book(clock);
  EXPECT_FALSE(book.restored());
  EXPECT_FALSE(book.claimed()) << "it is not known yet";
  book.open(true);
  ASSERT_TRUE(book.reserve(claim_on(machine.gpus[0].uuid.value, "begun"), machine));
  ASSERT_TRUE(book.reserve(claim_on(machine.gpus[1].uuid.value, "stored"), machine));
  book.commit(claim_on(machine.gpus[1].uuid.value, "stored"), machine);
  book.restore({{"other", claim_on(machine.gpus[2].uuid.value, "other")}}, machine);
  EXPECT_TRUE(book.restored());
  const auto claims = book.claims();
  ASSERT_THAT(claims, SizeIs(2));
  EXPECT_EQ(claims[0].uid, "begun");
  EXPECT_EQ(claims[1].uid, "other");
  ASSERT_TRUE(book.claimed());
  EXPECT_THAT(*book.claimed(), SizeIs(2));
}

TEST(BookClaimsTest, WaitsForAnEndAndNotForEver) {
  test::FakeClock clock;
  Book book(clock);
  const auto far = std::chrono::steady_clock::now() + std::chrono::hours(1);
  const auto version = book.version();
  const std::jthread ending([&] { book.end("u1"); });
  while (book.version() == version) {
    ASSERT_TRUE(book.await_change(version, far));
  }
  EXPECT_FALSE(book.await_change(book.version(), std::chrono::steady_clock::now()));
  book.stop();
  EXPECT_FALSE(book.await_change(book.version(), far));
}

}  // namespace
}  // namespace tranche::agent::book_claims_test
