#include "agent/dra/claim_status.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::agent::claim_status_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";
constexpr const char* kOther = "1b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1b";
constexpr const char* kShare = "7d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f";
constexpr const char* kDriver = "gpu.nvidia.com";
const cluster::ObjectKey kHalf{"team", "half"};

ClaimRecord half_of_a_gpu() {
  GrantLimits limits{.enforcement = Enforcement::kStrict, .devices = {{.uuid = "GPU-a"}}};
  limits.devices[0].memory = Bytes::from_mib(23034);
  limits.devices[0].permille = 500;
  return {.claim = {.ns = "team",
                    .name = "half",
                    .uid = kUid,
                    .boot = "boot-1",
                    .devices = {{.request = "gpu",
                                 .pool = "gpu-n1",
                                 .device = "gpu-0",
                                 .share_id = kShare,
                                 .uuid = "GPU-a",
                                 .limits = limits}}}};
}

TEST(StatusesOf, SayWhatTheContainersHave) {
  const auto statuses = statuses_of({half_of_a_gpu()}, {{"gpu-n1", "gpu-0"}}, kDriver);
  ASSERT_THAT(statuses, SizeIs(1));
  EXPECT_EQ(statuses.at(kUid), (ClaimStatus{.claim = kHalf,
                                            .devices = {{.driver = kDriver,
                                                         .pool = "gpu-n1",
                                                         .device = "gpu-0",
                                                         .share_id = kShare,
                                                         .ready = true,
                                                         .reason = "Prepared",
                                                         .uuid = "GPU-a",
                                                         .memory = Bytes::from_mib(23034),
                                                         .percent = 50}}}));
}

TEST(StatusesOf, SayWhyADeviceIsNotReady) {
  auto record = half_of_a_gpu();
  auto status = statuses_of({record}, {{"gpu-n1", "gpu-0", "XID 79"}}, kDriver).at(kUid).devices[0];
  EXPECT_FALSE(status.ready);
  EXPECT_EQ(status.reason, "DeviceUnhealthy");
  EXPECT_EQ(status.message, "XID 79");
  record.trouble = "the disk is full";
  status = statuses_of({record}, {{"gpu-n1", "gpu-0", "XID 79"}}, kDriver).at(kUid).devices[0];
  EXPECT_EQ(status.reason, "NotPrepared");
  EXPECT_EQ(status.message, "the disk is full");
}

class ClaimStatusWriterTest : public testing::Test {
 protected:
  ClaimStatusWriterTest() { put(kUid); }

  void put(const std::string& uid) {
    objects_.put(cluster::kResourceClaim,
                 fmt::format(R"({{"metadata": {{"namespace": "team", "name": "half",
                                                "uid": "{}"}}}})",
                             uid));
  }
  std::vector<cluster::DeviceStatus> there() const {
    return cluster::parse_device_statuses(objects_.text(cluster::kResourceClaim, kHalf), kDriver)
        .value();
  }
  void follow(const std::vector<ClaimRecord>& records, const std::string& ill = {}) {
    writer_->follow(statuses_of(records, {{"gpu-n1", "gpu-0", ill}}, kDriver));
  }
  void await_reason(const std::string& reason) {
    ASSERT_TRUE(test::eventually([&] {
      const auto now = there();
      return now.size() == 1 && now[0].reason == reason;
    }));
  }
  std::ptrdiff_t writes() const { return objects_.count_calls("apply "); }
  void start() {
    writer_.reset();
    writer_ = std::make_unique<ClaimStatusWriter>(
        ClaimStatusWriter::Ports{
            .objects = objects_, .driver = kDriver, .clock = clock_, .log = log_.log()},
        Backoff{std::chrono::milliseconds(1), std::chrono::milliseconds(5)});
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  std::unique_ptr<ClaimStatusWriter> writer_;
};

TEST_F(ClaimStatusWriterTest, WritesOnceAndTakesItBack) {
  start();
  follow({half_of_a_gpu()});
  await_reason("Prepared");
  EXPECT_EQ(there()[0].memory, Bytes::from_mib(23034));
  EXPECT_THAT(there()[0].since, testing::Not(IsEmpty()));
  follow({half_of_a_gpu()});
  follow({});
  EXPECT_TRUE(test::eventually([&] { return there().empty(); }));
  EXPECT_EQ(writes(), 2);
}

TEST_F(ClaimStatusWriterTest, KeepsSinceWhenOverARestart) {
  start();
  follow({half_of_a_gpu()});
  await_reason("Prepared");
  const auto since = there()[0].since;
  clock_.advance(std::chrono::minutes(5));
  start();
  follow({half_of_a_gpu()});
  EXPECT_TRUE(test::eventually([&] { return objects_.count_calls("get ") == 2; }));
  EXPECT_EQ(there()[0].since, since);
  follow({half_of_a_gpu()}, "XID 79");
  await_reason("DeviceUnhealthy");
  const auto ill_since = there()[0].since;
  EXPECT_NE(ill_since, since);
  clock_.advance(std::chrono::minutes(5));
  follow({half_of_a_gpu()}, "XID 79 again");
  EXPECT_TRUE(test::eventually([&] { return there()[0].message == "XID 79 again"; }));
  EXPECT_EQ(there()[0].since, ill_since);
}

TEST_F(ClaimStatusWriterTest, AnotherClaimOfThatNameIsNotTouched) {
  objects_.erase(cluster::kResourceClaim, kHalf);
  put(kOther);
  start();
  follow({half_of_a_gpu()});
  EXPECT_TRUE(test::eventually([&] { return !objects_.calls().empty(); }));
  writer_.reset();
  EXPECT_EQ(writes(), 0);
  EXPECT_THAT(there(), IsEmpty());
}

TEST_F(ClaimStatusWriterTest, TriesAgainWhenTheApiServerIsBack) {
  objects_.refuse("apply", cluster::kResourceClaim, {Code::kUnavailable, "away"}, 2);
  start();
  follow({half_of_a_gpu()});
  await_reason("Prepared");
}

TEST_F(ClaimStatusWriterTest, WithoutTheRightItSaysSoOnceAndStops) {
  objects_.refuse("apply", cluster::kResourceClaim, {Code::kPermission, "forbidden: rights"});
  start();
  follow({half_of_a_gpu()});
  EXPECT_TRUE(test::eventually([&] { return log_.count("forbidden: rights") == 1; }));
  follow({half_of_a_gpu()}, "XID 79");
  writer_.reset();
  EXPECT_EQ(writes(), 1);
}

}  // namespace
}  // namespace tranche::agent::claim_status_test
