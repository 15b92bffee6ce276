#include "agent/gpunode/gpu_node_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent/holdings/testing.h"
#include "cluster/kinds.h"
#include "offer/make_offer.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/machines.h"

namespace tranche::agent::gpu_node_publisher_test {
namespace {

using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

const cluster::ObjectKey kKey{"", "gpu-a"};

class GpuNodePublisherTest : public testing::Test {
 protected:
  GpuNodePublisherTest() { observe(); }

  GpuNodePublisher publisher() {
    return {GpuNodeObject(objects_, "gpu-a",
                          [this]() -> Result<cluster::OwnerReference> {
                            if (node_uid_.empty()) {
                              return fail(Code::kUnavailable, "the Node is not known yet");
                            }
                            return cluster::OwnerReference{"v1", "Node", "gpu-a", node_uid_};
                          }),
            source_, log_.log()};
  }
  void observe() {
    state_.machine = machine_;
    source_.follow(state_, std::make_shared<const offer::Offer>(
                               offer::make_offer(machine_, {}, state_.health)));
  }
  void turn(GpuNodePublisher& publisher) { publisher.turn(clock_.now(), {}); }
  void run(GpuNodePublisher& publisher, std::chrono::milliseconds time) {
    const auto end = clock_.now() + time;
    while (clock_.now() < end) {
      const auto next = publisher.turn(clock_.now(), {});
      ASSERT_GT(next, clock_.now()) << "it would spin";
      clock_.advance(std::min(next, end) - clock_.now());
    }
  }
  void take_gpu() {
    const auto grant = book_testing::grant(test::gpu_uuid(0));
    ASSERT_TRUE(book_.reserve(grant));
    book_.commit(grant);
  }
  std::optional<cluster::GpuNode> there() const {
    const auto text = objects_.text(cluster::kGpuNode, kKey);
    return text.empty() ? std::nullopt : std::optional(cluster::parse_gpu_node(text).value());
  }
  auto writes() const { return objects_.count_calls("apply gpunodes"); }

  test::FakeClock clock_;
  test::LogRecorder log_;
  test::FakeObjects objects_;
  gpu::Machine machine_ = test::machine_of({test::l20(0), test::l20(1)});
  State state_;
  std::string node_uid_ = "uid-1";
  Book book_{clock_};
  int asked_ = 0;
  StatusSource source_{
      {.book = book_, .ask = [this] { ++asked_; }, .driver_name = "gpu.nvidia.com"}};
};

TEST_F(GpuNodePublisherTest, WritesTheNodeOnceAndLeavesItAlone) {
  auto publisher = this->publisher();
  run(publisher, minutes(10));
  const auto node = there();
  ASSERT_TRUE(node && node->status);
  EXPECT_EQ(node->owners.at(0).uid, "uid-1");
  EXPECT_EQ(node->status->summary.gpus, 2);
  EXPECT_EQ(writes(), 2) << "the object, and its status";
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(GpuNodePublisherTest, AnotherAgentFindsItAsItShouldBe) {
  auto first = this->publisher();
  turn(first);
  auto second = this->publisher();
  run(second, minutes(5));
  EXPECT_EQ(writes(), 2);
}

TEST_F(GpuNodePublisherTest, BeforeTheHardwareIsReadNothingIsSaid) {
  StatusSource source({.book = book_, .driver_name = "d"});
  GpuNodePublisher publisher(GpuNodeObject(objects_, "gpu-a", {}), source, log_.log());
  publisher.turn(clock_.now(), {});
  EXPECT_THAT(objects_.calls(), IsEmpty());
}

TEST_F(GpuNodePublisherTest, WhatIsHeldIsWrittenSoonAndThenEvery30Seconds) {
  auto publisher = this->publisher();
  run(publisher, minutes(1));
  const auto before = writes();
  take_gpu();
  run(publisher, seconds(4));
  ASSERT_EQ(there()->status->holdings.size(), 1U) << "without a new offer";
  EXPECT_EQ(there()->status->holdings[0].device, test::gpu_uuid(0));
  EXPECT_EQ(writes(), before + 1);
  EXPECT_GT(asked_, 0) << "kubelet knows the name of the Pod";

  book_.withdraw(book_testing::grant(test::gpu_uuid(0)));
  run(publisher, seconds(20));
  EXPECT_EQ(writes(), before + 1);
  run(publisher, seconds(15));
  EXPECT_EQ(writes(), before + 2);
  EXPECT_THAT(there()->status->holdings, IsEmpty());
}

TEST_F(GpuNodePublisherTest, WhatIsUsedWithoutAGrantIsListedAndNotCounted) {
  auto publisher = this->publisher();
  run(publisher, minutes(1));
  book_.observe({{.device = test::gpu_uuid(0), .pod = "thief"}});
  run(publisher, seconds(4));
  ASSERT_EQ(there()->status->holdings.size(), 1U);
  EXPECT_EQ(there()->status->holdings[0].wire, "none");
  EXPECT_EQ(there()->status->holdings[0].pod, "thief");
  EXPECT_EQ(there()->status->summary.held, 0);
}

TEST_F(GpuNodePublisherTest, HealthIsWrittenAtOnceThoughHoldingsCameAMomentAgo) {
  auto publisher = this->publisher();
  run(publisher, minutes(1));
  take_gpu();
  run(publisher, seconds(4));
  state_.health = {{test::gpu_uuid(1), "XID 79"}};
  observe();
  run(publisher, seconds(2));
  EXPECT_EQ(there()->status->gpus.at(1).unhealthy, "XID 79");
}

TEST_F(GpuNodePublisherTest, ThePodsAddWhatKubeletDoesNotTell) {
  std::vector<cluster::Pod> pods;
  StatusSource source(
      {.book = book_, .pods = [&] { return std::optional(pods); }, .driver_name = {}});
  source.follow(
      state_, std::make_shared<const offer::Offer>(offer::make_offer(machine_, {}, state_.health)));
  book_testing::open(book_, machine_);
  ASSERT_TRUE(book_.reserve(book_testing::grant(test::gpu_uuid(0))));
  book_.commit(book_testing::grant(test::gpu_uuid(0)));
  clock_.advance(seconds(2));
  const std::vector<cluster::HeldDevices> held = {{.pod_namespace = "team",
                                                   .pod_name = "train",
                                                   .container = "main",
                                                   .resource = "nvidia.com/gpu",
                                                   .ids = {test::gpu_uuid(0)}}};
  book_.apply({.began = clock_.now(), .listed = held, .remembered = held});
  EXPECT_EQ(source.status(clock_.now())->holdings.at(0).pod, "train");
  EXPECT_EQ(source.status(clock_.now())->holdings.at(0).pod_uid, "");
  pods = {{.ns = "team", .name = "train", .uid = "pod-uid"}};
  clock_.advance(StatusSource::kReadPods);
  EXPECT_EQ(source.status(clock_.now())->holdings.at(0).pod_uid, "pod-uid");
  EXPECT_EQ(source.status(clock_.now()), source.status(clock_.now())) << "made once";
}

TEST_F(GpuNodePublisherTest, WaitsWhileTheServerIsAway) {
  objects_.refuse("", cluster::kGpuNode, {Code::kUnavailable, "connection refused"});
  auto publisher = this->publisher();
  run(publisher, minutes(5));
  EXPECT_LT(objects_.calls().size(), 20U) << "with a back-off";
  EXPECT_EQ(log_.count("GPUNode gpu-a is not written: connection refused; trying again"), 1);
  objects_.recover();
  run(publisher, seconds(31));
  EXPECT_TRUE(there()->status);
  EXPECT_EQ(log_.count("GPUNode gpu-a is written again"), 1);
}

TEST_F(GpuNodePublisherTest, AnOutageAloneIsNoReasonToWrite) {
  auto publisher = this->publisher();
  turn(publisher);
  objects_.refuse("", cluster::kGpuNode, {Code::kTimeout, "no answer"});
  run(publisher, minutes(5));
  objects_.recover();
  run(publisher, minutes(5));
  EXPECT_EQ(writes(), 2);
}

TEST_F(GpuNodePublisherTest, WritesAgainAfterAConflict) {
  auto publisher = this->publisher();
  objects_.refuse("apply", cluster::kGpuNode, {Code::kFailedPrecondition, "it has changed"}, 1);
  run(publisher, seconds(3));
  EXPECT_TRUE(there()->status);
}

TEST_F(GpuNodePublisherTest, WhatSomebodyDeletedComesBack) {
  auto publisher = this->publisher();
  turn(publisher);
  objects_.erase(cluster::kGpuNode, kKey);
  run(publisher, GpuNodePublisher::kLookThere + seconds(2));
  ASSERT_TRUE(there());
  EXPECT_EQ(there()->status->summary.gpus, 2);
  EXPECT_EQ(there()->owners.at(0).uid, "uid-1");
}

TEST_F(GpuNodePublisherTest, WhatIsDeletedBetweenTwoWritesIsMadeAnew) {
  auto publisher = this->publisher();
  turn(publisher);
  objects_.erase(cluster::kGpuNode, kKey);
  state_.health = {{test::gpu_uuid(1), "XID 79"}};
  observe();
  run(publisher, seconds(4));
  ASSERT_TRUE(there());
  EXPECT_EQ(there()->owners.at(0).uid, "uid-1");
  EXPECT_EQ(there()->status->gpus.at(1).unhealthy, "XID 79");
}

TEST_F(GpuNodePublisherTest, WhatSomebodyChangedIsPutRight) {
  const struct {
    const char* name;
    std::function<void(json&)> change;
  } cases[] = {
      {"the status", [](json& object) { object["status"]["gpus"] = json::array(); }},
      {"no status", [](json& object) { object.erase("status"); }},
      {"no object of ours", [](json& object) { object["status"]["gpus"] = "nonsense"; }},
      {"the owner", [](json& object) { object["metadata"].erase("ownerReferences"); }},
  };
  for (const auto& one : cases) {
    auto publisher = this->publisher();
    turn(publisher);
    const auto right = there();
    ASSERT_TRUE(right) << one.name;
    auto object = json::parse(objects_.text(cluster::kGpuNode, kKey));
    one.change(object);
    objects_.put(cluster::kGpuNode, object.dump());
    run(publisher, GpuNodePublisher::kLookThere + seconds(4));
    ASSERT_TRUE(there()) << one.name;
    EXPECT_EQ(there()->status, right->status) << one.name;
    EXPECT_EQ(there()->owners, right->owners) << one.name;
  }
}

TEST_F(GpuNodePublisherTest, AFieldThatTheServerDropsIsNotWrittenForEver) {
  auto publisher = this->publisher();
  turn(publisher);
  auto object = json::parse(objects_.text(cluster::kGpuNode, kKey));
  object["status"].erase("agent");
  objects_.put(cluster::kGpuNode, object.dump());
  auto other = this->publisher();
  run(other, minutes(10));
  EXPECT_LE(writes(), 3);
}

TEST_F(GpuNodePublisherTest, ANodeThatCameAnewOwnsIt) {
  auto publisher = this->publisher();
  turn(publisher);
  node_uid_ = "uid-2";
  objects_.erase(cluster::kGpuNode, kKey);  // the garbage collector
  run(publisher, GpuNodePublisher::kLookThere + seconds(2));
  EXPECT_EQ(there()->owners.at(0).uid, "uid-2");
}

TEST_F(GpuNodePublisherTest, WithoutANodeNothingIsWritten) {
  node_uid_.clear();
  auto publisher = this->publisher();
  run(publisher, seconds(3));
  EXPECT_THAT(log_.lines(), IsEmpty()) << "the Node is read during the first turns";
  run(publisher, seconds(10));
  EXPECT_EQ(writes(), 0);
  EXPECT_EQ(log_.count("GPUNode gpu-a is not written: the Node is not known yet"), 1);
  node_uid_ = "uid-1";
  run(publisher, seconds(10));
  EXPECT_TRUE(there()->status);
}

TEST_F(GpuNodePublisherTest, WhereTheKindIsMissingItSaysSoOnceAndRarelyTries) {
  objects_.serve(cluster::kGpuNode, false);
  auto publisher = this->publisher();
  run(publisher, minutes(25));
  EXPECT_EQ(log_.count("the cluster has no kind gpunodes.tranche.dev"), 1);
  EXPECT_EQ(log_.count("--gpu-node=false"), 1);
  EXPECT_LE(objects_.calls().size(), 6U) << "every 10 minutes";
  objects_.serve(cluster::kGpuNode, true);
  run(publisher, minutes(10));
  EXPECT_TRUE(there()->status);
}

TEST_F(GpuNodePublisherTest, WhereItMayNotItTriesEveryFewMinutes) {
  objects_.refuse("apply", cluster::kGpuNode, {Code::kPermission, "gpunodes is forbidden"});
  auto publisher = this->publisher();
  run(publisher, minutes(11));
  EXPECT_EQ(log_.count("gpunodes is forbidden"), 1);
  EXPECT_EQ(writes(), 3);
}

}  // namespace
}  // namespace tranche::agent::gpu_node_publisher_test
