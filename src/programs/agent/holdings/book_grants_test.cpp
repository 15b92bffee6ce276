#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/holdings/book.h"
#include "offer/make_offer.h"
#include "support/fake_clock.h"
#include "support/machines.h"

namespace tranche::agent::book_grants_test {
namespace {

using test::gpu_uuid;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Held = std::vector<cluster::HeldDevices>;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kSharedGpu = "nvidia.com/gpu.shared";

offer::Grant grant(const std::string& resource, std::vector<std::string> ids) {
  return {.resource = {resource}, .ids = std::move(ids), .envs = {}};
}
std::string replica(int number, int gpu = 0) { return offer::replica_id(gpu_uuid(gpu), number); }

cluster::HeldDevices holds(const std::string& pod, const std::string& resource,
                           std::vector<std::string> ids) {
  return {.pod_namespace = pod.empty() ? "" : "ns",
          .pod_name = pod,
          .container = "c",
          .resource = resource,
          .ids = std::move(ids)};
}

class BookGrantsTest : public testing::Test {
 protected:
  BookGrantsTest() {
    clock_.advance(std::chrono::hours(1));
    book_.on_misfit([this] { ++misfits_; });
  }

  void follow(int replicas, bool enforced = true, bool rename = true) {
    config::ReplicatedResource entry;
    entry.name = {kGpu};
    entry.replicas = replicas;
    if (rename && replicas > 1) entry.rename = config::ResourceName{kSharedGpu};
    config::Config config;
    config.sharing.time_slicing = {.resources = {entry}};
    config.tranche.limits = limits_;
    const auto offer = offer::make_offer(machine_, config, {});
    book_.follow(offer, machine_, enforced);
  }
  Result<void> give(const offer::Grant& grant) {
    TRY(book_.reserve(grant));
    book_.commit(grant);
    return {};
  }
  // Time passes before kubelet is asked.
  Book::Changes apply(Held listed, Result<Held> remembered,
                      std::chrono::seconds later = std::chrono::seconds(2)) {
    clock_.advance(later);
    return book_.apply(
        {.began = clock_.now(), .listed = std::move(listed), .remembered = std::move(remembered)});
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> out;
    const auto granted = book_.granted();
    for (const auto& one : *granted) out.push_back(one.id);
    return out;
  }

  gpu::Machine machine_ = test::machine_of({test::l20(0), test::l20(1)});
  config::LimitTable limits_;
  test::FakeClock clock_;
  int misfits_ = 0;
  Book book_{clock_};
};

TEST_F(BookGrantsTest, RefusesAGpuThatOthersShareAndNamesThem) {
  follow(4);
  ASSERT_TRUE(give(grant(kSharedGpu, {replica(0)})));
  apply({holds("a", kSharedGpu, {replica(0)})}, Held());
  follow(1);
  const auto refused = book_.reserve(grant(kGpu, {gpu_uuid(0)}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().what,
              HasSubstr("invalid allocation request for \"nvidia.com/gpu\": " + gpu_uuid(0) +
                        " is held as nvidia.com/gpu.shared by ns/a"));
  EXPECT_TRUE(give(grant(kGpu, {gpu_uuid(1)}))) << "nobody holds the other one";
}

TEST_F(BookGrantsTest, RefusesToShareAGpuThatSomebodyHasAlone) {
  follow(1);
  ASSERT_TRUE(give(grant(kGpu, {gpu_uuid(0)})));
  follow(4);
  EXPECT_FALSE(book_.reserve(grant(kSharedGpu, {replica(2)})));
  EXPECT_THAT(ids(), ElementsAre(gpu_uuid(0))) << "what was refused is not held";
}

TEST_F(BookGrantsTest, AWholeGpuOfTheSameNameBecomesOneOfItsReplicas) {
  follow(1);
  ASSERT_TRUE(give(grant(kGpu, {gpu_uuid(0)})));
  follow(2, true, false);
  EXPECT_TRUE(give(grant(kGpu, {replica(1)}))) << "the rolling update goes on";
  follow(1);
  EXPECT_FALSE(book_.reserve(grant("nvidia.com/other", {gpu_uuid(0)})));
}

TEST_F(BookGrantsTest, TheLaterOfTwoPromisesThatExcludeEachOtherIsRefused) {
  follow(4);
  ASSERT_TRUE(book_.reserve(grant(kSharedGpu, {replica(0)}))) << "begins before the change";
  follow(1);
  EXPECT_FALSE(book_.reserve(grant(kGpu, {gpu_uuid(0)}))) << "before the other one is answered";
  EXPECT_EQ(misfits_, 0);
}

TEST_F(BookGrantsTest, AGrantOfTheOfferBeforeIsTold) {
  follow(1);
  EXPECT_TRUE(give(grant(kSharedGpu, {replica(0)})));
  EXPECT_EQ(misfits_, 1);
}

TEST_F(BookGrantsTest, AnIdThatIsGivenAnewIsHeldOnce) {
  follow(1);
  ASSERT_TRUE(give(grant(kGpu, {gpu_uuid(0)})));
  EXPECT_TRUE(give(grant(kGpu, {gpu_uuid(0)}))) << "an init container and its container";
  EXPECT_THAT(ids(), SizeIs(1));
}

TEST_F(BookGrantsTest, CountsTheHoldersOfBothNames) {
  follow(2);
  ASSERT_TRUE(give(grant(kSharedGpu, {replica(0)})));
  follow(2, true, false);
  EXPECT_TRUE(give(grant(kGpu, {replica(0)})));
  const auto third = book_.reserve(grant(kGpu, {replica(1)}));
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error().what, HasSubstr("is held as nvidia.com/gpu.shared"));
}

TEST_F(BookGrantsTest, PartsThatAreKeptAndPartsThatAreGivenAddUp) {
  machine_.gpus[0].memory = Bytes::from_mib(1000);
  auto half = grant(kSharedGpu, {replica(0)});
  half.tenant = "t";
  half.limits = {.enforcement = Enforcement::kStrict,
                 .devices = {{.uuid = gpu_uuid(0), .memory = Bytes::from_mib(500)}}};
  limits_.general = {.enforcement = Enforcement::kStrict};
  follow(2);
  ASSERT_TRUE(give(half));
  follow(4, true, false);
  ASSERT_TRUE(give(grant(kGpu, {replica(0)})));
  ASSERT_TRUE(give(grant(kGpu, {replica(1)})));
  EXPECT_FALSE(book_.reserve(grant(kGpu, {replica(2)}))) << "with a list from before the change";
  auto kept = *book_.granted();
  for (auto& promise : kept) {
    if (promise.part) promise.part->memory = Bytes::from_mib(250);
  }
  book_.keep(kept);
  EXPECT_TRUE(book_.reserve(grant(kGpu, {replica(2)}))) << "it was lowered since it was granted";
}

TEST_F(BookGrantsTest, RefusesNothingWhereItIsNotEnforced) {
  follow(4, false);
  ASSERT_TRUE(give(grant(kSharedGpu, {replica(0)})));
  follow(1, false);
  EXPECT_TRUE(give(grant(kGpu, {gpu_uuid(0)})));
}

TEST_F(BookGrantsTest, AGrantThatWasNotStoredIsNotHeld) {
  follow(1);
  ASSERT_TRUE(book_.reserve(grant(kGpu, {gpu_uuid(0)})));
  book_.withdraw(grant(kGpu, {gpu_uuid(0)}));
  EXPECT_THAT(ids(), IsEmpty());
}

struct Step {
  const char* name;
  Held listed;
  Result<Held> remembered;
  bool held;  // afterwards
};

TEST_F(BookGrantsTest, APromiseIsOverWhenNeitherListNorCheckpointNamesIt) {
  follow(4);
  const Held named = {holds("a", kSharedGpu, {replica(0)})};
  const Held remembered = {holds("", kSharedGpu, {replica(0)})};
  const Step steps[] = {
      {"both name it", named, remembered, true},
      {"a kubelet that has just started lists nobody", {}, remembered, true},
      {"the checkpoint cannot be read", {}, fail(Code::kIo, "torn"), true},
      {"the list alone", named, Held(), true},
      {"neither", {}, Held(), false},
  };
  ASSERT_TRUE(give(grant(kSharedGpu, {replica(0)})));
  for (const auto& step : steps) {
    const auto changes = apply(step.listed, step.remembered);
    EXPECT_EQ(ids().size(), step.held ? 1U : 0U) << step.name;
    EXPECT_TRUE(step.held || changes.changed) << step.name;
  }
}

TEST_F(BookGrantsTest, AGrantThatKubeletHasNotNamedYetIsHeldAWhile) {
  follow(4);
  ASSERT_TRUE(give(grant(kSharedGpu, {replica(0)})));
  EXPECT_TRUE(book_.has_unnamed());
  EXPECT_TRUE(apply({}, Held(), std::chrono::seconds(1)).unclear);
  EXPECT_THAT(ids(), SizeIs(1));
  apply({}, Held(), GrantEntries::kSettle);
  EXPECT_THAT(ids(), IsEmpty()) << "its Pod has failed";
}

TEST_F(BookGrantsTest, AnAnswerSaysNothingOfAGrantThatIsGivenMeanwhile) {
  follow(4);
  ASSERT_TRUE(book_.reserve(grant(kSharedGpu, {replica(0)})));
  apply({}, Held(), std::chrono::hours(1));
  EXPECT_THAT(ids(), SizeIs(1)) << "it is being stored for an hour";
  const auto asked = clock_.now();
  clock_.advance(std::chrono::seconds(1));
  book_.commit(grant(kSharedGpu, {replica(0)}));
  clock_.advance(std::chrono::hours(1));
  book_.apply({.began = asked, .listed = {}, .remembered = Held()});
  EXPECT_THAT(ids(), SizeIs(1));
}

TEST_F(BookGrantsTest, AnOldCheckpointThatNamesTheHolderBeforeFreesNobody) {
  follow(4);
  const Held before = {holds("", kSharedGpu, {replica(0)})};
  ASSERT_TRUE(give(grant(kSharedGpu, {replica(0)})));
  apply({}, before, std::chrono::seconds(0));
  apply({}, Held(), std::chrono::seconds(0));
  EXPECT_THAT(ids(), SizeIs(1));
}

TEST_F(BookGrantsTest, TakesWhatAnEarlierAgentGranted) {
  const auto now =
      std::chrono::floor<std::chrono::milliseconds>(clock_.wall_now().time_since_epoch()).count();
  book_.restore(std::vector<offer::GrantRecord>{
      {.grant = grant(kSharedGpu, {replica(0)}), .granted_at_ms = now - 3'600'000},
      {.grant = grant(kSharedGpu, {replica(1)}), .granted_at_ms = now}});
  follow(1);
  EXPECT_FALSE(book_.reserve(grant(kGpu, {gpu_uuid(0)})));
  apply({}, Held(), std::chrono::seconds(1));
  EXPECT_THAT(ids(), ElementsAre(replica(1))) << "the old one is over at once";
}

TEST_F(BookGrantsTest, LearnsOfContainersThatNoGrantIsKnownOf) {
  follow(4);
  book_.learn({holds("", kGpu, {gpu_uuid(0)}), holds("", "vendor.com/x", {"x-0"})});
  EXPECT_THAT(ids(), ElementsAre(gpu_uuid(0)));
  EXPECT_FALSE(book_.reserve(grant(kSharedGpu, {replica(0)})));
  const auto changes =
      apply({holds("b", kGpu, {gpu_uuid(0)}), holds("c", kGpu, {gpu_uuid(1)})}, Held());
  EXPECT_TRUE(changes.came);
  EXPECT_TRUE(changes.changed) << "the Pod's name";
  EXPECT_THAT(ids(), UnorderedElementsAre(gpu_uuid(0), gpu_uuid(1)));
  EXPECT_TRUE(apply({}, Held()).changed);
  EXPECT_THAT(ids(), IsEmpty());
}

TEST_F(BookGrantsTest, AGpuAndItsInstancesExcludeEachOther) {
  machine_ = test::machine_of({test::a100_40gb(0).mig({"1g.5gb", "1g.5gb"})});
  follow(1);
  ASSERT_TRUE(give(grant("nvidia.com/mig-1g.5gb", {test::mig_uuid(0, 0)})));
  EXPECT_TRUE(give(grant("nvidia.com/mig-1g.5gb", {test::mig_uuid(0, 1)})));
  EXPECT_FALSE(book_.reserve(grant(kGpu, {gpu_uuid(0)})));
}

// A starting kubelet names none of its containers for a while; the tenants stay known.
TEST_F(BookGrantsTest, AContainerThatKubeletNamesAgainHasItsTenantStill) {
  follow(4);
  auto half = grant(kSharedGpu, {replica(0)});
  half.tenant = "t1";
  half.limits = {.enforcement = Enforcement::kStrict,
                 .devices = {{.uuid = gpu_uuid(0), .memory = Bytes::from_mib(500)}}};
  ASSERT_TRUE(give(half));
  const Held listed = {holds("a", kSharedGpu, {replica(0)})};
  apply(listed, listed);
  apply({}, Held());
  ASSERT_THAT(ids(), IsEmpty());
  apply(listed, listed);
  ASSERT_THAT(ids(), SizeIs(1));
  EXPECT_EQ(book_.granted()->at(0).tenant, "t1");
  EXPECT_TRUE(book_.granted()->at(0).part);
  apply({}, Held());
  clock_.advance(std::chrono::minutes(5));
  apply(listed, listed);
  EXPECT_EQ(book_.granted()->at(0).tenant, "") << "by now its record is gone, too";
}

}  // namespace
}  // namespace tranche::agent::book_grants_test
