#include "agent/mps/mps_supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "agent/mps/testing.h"
#include "mps/ready_file.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::mps_supervisor_test {
namespace {

using namespace mps_testing;  // NOLINT: the fakes of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

mps::Daemon daemon_of(const std::string& name, const std::string& uuid,
                      std::uint64_t limit = 4096) {
  return {.resource = {"nvidia.com/" + name},
          .devices = {{.uuid = uuid, .index = 0, .memory_mib = 16384, .limit_mib = limit}},
          .sees_all = true,
          .thread_percentage = 25};
}

class SupervisorTest : public ::testing::Test {
 protected:
  void follow(const mps::Plan& plan) { supervisor_->follow(plan, now_); }
  void pass(milliseconds time) {
    now_ += time;
    supervisor_->tick(now_);
  }
  bool exists(const std::string& file) const { return std::filesystem::exists(dir_.path() / file); }
  bool is_ready() const { return exists(".ready"); }
  bool is_started(const std::string& name) const {
    return exists("nvidia.com/" + name + "/.started");
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  FakeGpus gpus_;
  FakeProgram program_;
  std::vector<NodeNotice> told_;
  MpsTools tools_ = tools_of(program_, gpus_, dir_.path(), log_.log());
  MpsSupervisor::TimePoint now_{};
  std::optional<MpsSupervisor> supervisor_{
      std::in_place, tools_, MpsSupervisor::Options{},
      [this](const NodeNotice& notice) { told_.push_back(notice); }};
};

TEST_F(SupervisorTest, StartsAsNvidiasAndEndsCleanly) {
  EXPECT_FALSE(is_ready());  // nothing is known yet
  follow({daemon_of("gpu", "GPU-a")});
  EXPECT_THAT(program_.take(),
              ElementsAre("gpu: -d", "gpu: set_default_device_pinned_mem_limit 0 4096M",
                          "gpu: set_default_active_thread_percentage 25"));
  EXPECT_THAT(gpus_.exclusive, ElementsAre("GPU-a"));
  EXPECT_TRUE(is_started("gpu"));
  EXPECT_TRUE(is_ready());

  supervisor_.reset();
  EXPECT_THAT(program_.take(), ElementsAre("gpu: quit"));
  EXPECT_THAT(gpus_.exclusive, IsEmpty());
  EXPECT_FALSE(is_started("gpu"));
  EXPECT_FALSE(is_ready());
  EXPECT_TRUE(exists("nvidia.com/gpu/pipe"));
  EXPECT_FALSE(exists("nvidia.com/gpu/log"));
}

TEST_F(SupervisorTest, HoldEndsTheDaemonsOfTheseGpusAndNoOther) {
  follow({daemon_of("gpu", "GPU-a"), daemon_of("other", "GPU-b")});
  program_.take();
  supervisor_->hold({"GPU-a", "GPU-c"});
  EXPECT_THAT(program_.take(), ElementsAre("gpu: quit"));
  EXPECT_THAT(gpus_.exclusive, ElementsAre("GPU-b"));
  EXPECT_FALSE(is_ready());
  EXPECT_TRUE(is_started("other"));

  pass(seconds(30));
  EXPECT_FALSE(is_started("gpu")) << "nothing begins";
  gpus_.exclusive.clear();  // the driver forgot it
  supervisor_->release(now_);
  pass(seconds(0));
  EXPECT_TRUE(is_started("gpu"));
  EXPECT_THAT(gpus_.exclusive, UnorderedElementsAre("GPU-a", "GPU-b"));
  EXPECT_TRUE(is_ready());
}

TEST_F(SupervisorTest, WhatIsHeldBeginsByThePlanOfThen) {
  follow({daemon_of("gpu", "GPU-a"), daemon_of("other", "GPU-b")});
  supervisor_->hold({"GPU-a"});
  program_.take();
  follow({daemon_of("gpu", "GPU-c"), daemon_of("other", "GPU-b")});
  EXPECT_THAT(gpus_.exclusive, ElementsAre("GPU-b"));
  supervisor_->release(now_);
  pass(seconds(0));
  EXPECT_THAT(gpus_.exclusive, UnorderedElementsAre("GPU-b", "GPU-c"));
}

TEST_F(SupervisorTest, ADaemonThatDiesMeanwhileBeginsAfterwards) {
  follow({daemon_of("gpu", "GPU-a"), daemon_of("other", "GPU-b")});
  supervisor_->hold({"GPU-a"});
  program_.daemons.clear();
  supervisor_->suspect(now_);
  pass(seconds(1));
  EXPECT_FALSE(is_started("other"));
  supervisor_->release(now_);
  pass(seconds(0));
  EXPECT_TRUE(is_started("gpu"));
  EXPECT_TRUE(is_started("other"));
}

mps::Daemon of_protocol_3(std::uint64_t limit) {
  auto daemon = daemon_of("gpu", "GPU-a", limit);
  daemon.protocol = 3;
  daemon.namespaces = {{.name = "default", .limit_mib = limit, .thread_percentage = 25}};
  return daemon;
}

// With the protocol of this number in mps/protocols.def.
class Protocol3SupervisorTest : public SupervisorTest {
 protected:
  void SetUp() override {
    if (mps::protocol_of(3).number() != 3) GTEST_SKIP() << "this tranche has no protocol 3";
  }
};

TEST_F(Protocol3SupervisorTest, StartsWithItsLimitsInAFile) {
  follow({of_protocol_3(4096)});
  const auto file = (dir_.path() / "nvidia.com/gpu/log/config.toml").string();
  EXPECT_THAT(program_.take(),
              ElementsAre("gpu: -d -p 3 -m -a " + file, "gpu: server list --format=csv,noheader"));
  EXPECT_THAT(*FsRoot().read(file), HasSubstr("pinned_memory_limit = \"4096M\""));
  const auto mark = dir_.path() / "nvidia.com/gpu/.started";
  EXPECT_EQ(mps::service_of(mark).protocol, 3);

  follow({of_protocol_3(2048)});
  EXPECT_THAT(program_.take(), ElementsAre("gpu: server set shared --pinned-memory-limit=2048M "
                                           "--active-thread-percentage=25"));
  supervisor_.reset();
  EXPECT_THAT(program_.take(), ElementsAre("gpu: -q"));
  EXPECT_THAT(gpus_.exclusive, IsEmpty());
}

TEST_F(Protocol3SupervisorTest, StartsAnewWhenItsServerIsGone) {
  follow({of_protocol_3(4096)});
  ASSERT_TRUE(is_ready());
  program_.status.clear();
  pass(seconds(10));
  EXPECT_FALSE(is_ready());
  EXPECT_EQ(log_.count("the server of the MPS control daemon has ended"), 1);
  program_.status = "Ready";
  pass(seconds(30));
  EXPECT_TRUE(is_ready());
}

TEST_F(SupervisorTest, MakesAPartitionForEachTranche) {
  auto daemon = daemon_of("gpu", "GPU-01234567");
  daemon.partitions = config::EqualChunks{};
  daemon.devices[0].replicas = 2;
  follow({daemon});
  EXPECT_THAT(
      program_.take(),
      ElementsAre("gpu: -d -S", "gpu: set_default_device_pinned_mem_limit 0 4096M",
                  "gpu: set_default_active_thread_percentage 25", "gpu: lspart",
                  "gpu: sm_partition add GPU-01234567 4", "gpu: sm_partition add GPU-01234567 4"));
  EXPECT_THAT(mps::service_of(dir_.path() / "nvidia.com/gpu/.started").partitions,
              ElementsAre(std::pair("GPU-01234567::0", "GPU-01234567/D1"),
                          std::pair("GPU-01234567::1", "GPU-01234567/D2")));
}

TEST_F(SupervisorTest, ServesNothingWhereThePartitionsDoNotFit) {
  auto daemon = daemon_of("gpu", "GPU-01234567");
  daemon.partitions = 5;
  daemon.devices[0].replicas = 2;
  follow({daemon});
  EXPECT_FALSE(is_started("gpu"));
  EXPECT_THAT(gpus_.exclusive, IsEmpty());
  EXPECT_EQ(log_.count("has 8 chunks of multiprocessors, and 2 replicas with 5 need 10"), 1);
  EXPECT_EQ(program_.take().back(), "gpu: quit");
}

TEST_F(SupervisorTest, IsReadyWhenNothingIsWanted) {
  follow({});
  EXPECT_TRUE(is_ready());
  EXPECT_THAT(program_.calls, IsEmpty());
  EXPECT_EQ(supervisor_->next_tick(), std::nullopt);
}

TEST_F(SupervisorTest, TriesAgainWithBackOffAndSaysItOnce) {
  program_.refuses = true;
  follow({daemon_of("gpu", "GPU-a")});
  EXPECT_FALSE(is_ready());
  EXPECT_THAT(gpus_.exclusive, IsEmpty()) << "a GPU that nobody serves is anybody's";
  int attempts = 0;
  for (int second = 0; second < 15; ++second) {
    program_.take();
    pass(seconds(1));
    for (const auto& call : program_.calls) attempts += call == "gpu: -d" ? 1 : 0;
  }
  EXPECT_EQ(attempts, 4) << "after 1, 2, 4, 8 seconds";
  EXPECT_EQ(log_.count("cannot be started"), 1);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].reason, "MpsDaemonFailed");
  EXPECT_THAT(told_[0].note, HasSubstr("the GPU is busy"));

  program_.refuses = false;
  pass(seconds(30));
  EXPECT_TRUE(is_ready());
  EXPECT_THAT(gpus_.exclusive, ElementsAre("GPU-a"));
}

TEST_F(SupervisorTest, DoesNotStartWithoutExclusiveGpus) {
  gpus_.refuses = true;
  follow({daemon_of("gpu", "GPU-a")});
  EXPECT_EQ(log_.count("no permission"), 2) << "once for the start, once for the way back";
  EXPECT_FALSE(is_ready());
  EXPECT_THAT(program_.daemons, IsEmpty());
}

TEST_F(SupervisorTest, StartsADeadDaemonAtOnceAndOneThatKeepsDyingLater) {
  follow({daemon_of("gpu", "GPU-a"), daemon_of("other", "GPU-b")});
  pass(seconds(10));  // both have answered
  program_.take();
  program_.daemons.erase("gpu");
  supervisor_->suspect(now_);
  pass(milliseconds(0));
  EXPECT_THAT(program_.daemons, UnorderedElementsAre("gpu", "other"));
  EXPECT_TRUE(is_ready());
  EXPECT_EQ(log_.count("the MPS control daemon of nvidia.com/gpu has ended"), 1);
  EXPECT_EQ(log_.count("the MPS control daemon of nvidia.com/other has ended"), 0);

  // It ends again before it was seen to serve, so its restart is delayed.
  program_.daemons.erase("gpu");
  supervisor_->suspect(now_);
  pass(milliseconds(0));
  EXPECT_THAT(program_.daemons, ElementsAre("other"));
  EXPECT_FALSE(is_started("gpu"));
  EXPECT_TRUE(is_started("other"));
  EXPECT_FALSE(is_ready());
  pass(seconds(2));
  EXPECT_TRUE(is_ready());
}

TEST_F(SupervisorTest, EndsADaemonThatDoesNotAnswer) {
  follow({daemon_of("gpu", "GPU-a")});
  program_.take();
  program_.hangs = true;
  pass(seconds(10));
  EXPECT_THAT(program_.calls, ElementsAre("gpu: get_default_active_thread_percentage", "gpu: quit",
                                          "gpu: -d", "gpu: quit"));
  EXPECT_FALSE(is_started("gpu"));
  EXPECT_THAT(gpus_.exclusive, IsEmpty());
  program_.hangs = false;
  pass(seconds(4));
  EXPECT_TRUE(is_ready());
}

TEST_F(SupervisorTest, FollowsAChangeWithoutTouchingOthers) {
  follow({daemon_of("a", "GPU-a"), daemon_of("b", "GPU-b")});
  program_.take();
  program_.servers = "17\n4711\n";
  follow({daemon_of("a", "GPU-a", 2048), daemon_of("b", "GPU-b")});
  EXPECT_THAT(program_.take(),
              ElementsAre("a: set_default_device_pinned_mem_limit 0 2048M", "a: get_server_list",
                          "a: set_device_pinned_mem_limit 17 0 2048M",
                          "a: set_device_pinned_mem_limit 4711 0 2048M"));
  follow({daemon_of("a", "GPU-b"), daemon_of("c", "GPU-a")});
  const auto calls = program_.take();
  EXPECT_THAT(std::vector(calls.begin(), calls.begin() + 2),
              UnorderedElementsAre("a: quit", "b: quit"));
  EXPECT_THAT(program_.daemons, UnorderedElementsAre("a", "c"));
  EXPECT_THAT(gpus_.exclusive, UnorderedElementsAre("GPU-a", "GPU-b"));
  EXPECT_TRUE(is_ready());
  EXPECT_FALSE(is_started("b"));
}

TEST_F(SupervisorTest, EndsWhatNobodySupervisesBeforeItStarts) {
  program_.daemons.insert("gpu");
  FsRoot().make_directories(dir_.path() / "nvidia.com/gpu/pipe").value();
  FsRoot()
      .write_atomic(dir_.path() / "nvidia.com/gpu/pipe/nvidia-cuda-mps-control.pid", "0")
      .value();
  follow({daemon_of("gpu", "GPU-a")});
  EXPECT_THAT(std::vector(program_.calls.begin(), program_.calls.begin() + 3),
              ElementsAre("gpu: get_default_active_thread_percentage", "gpu: quit", "gpu: -d"));
  EXPECT_EQ(log_.count("is running already"), 1);
  EXPECT_TRUE(is_ready());
}

TEST_F(SupervisorTest, ADaemonWhoseLimitsAreLeftToClaimsSaysSoAndRunsOn) {
  auto daemon = daemon_of("gpu", "GPU-a");
  follow({daemon});
  const auto started = dir_.path() / "nvidia.com/gpu/.started";
  EXPECT_FALSE(mps::service_of(started).open);
  auto open = daemon;
  open.open = true;
  open.thread_percentage = 100;
  open.devices[0].limit_mib.reset();
  program_.take();
  follow({open});
  EXPECT_TRUE(mps::service_of(started).open);
  EXPECT_THAT(program_.take(),
              ElementsAre("gpu: set_default_device_pinned_mem_limit 0 16384M",
                          "gpu: set_default_active_thread_percentage 100", "gpu: get_server_list"));
  follow({daemon});
  EXPECT_FALSE(mps::service_of(started).open);
  EXPECT_EQ(mps::trouble_of(started), "");
}

}  // namespace
}  // namespace tranche::agent::mps_supervisor_test
