#include "agent/mps/mps_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "agent/mps/testing.h"
#include "mps/open_file.h"
#include "mps/plan.h"
#include "support/fake_clock.h"
#include "support/fake_reader.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::agent::mps_control_test {
namespace {

using namespace mps_testing;  // NOLINT: the fakes of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr seconds kAsk{10};

class MpsControlTest : public ::testing::Test {
 protected:
  MpsControlTest() : reader_(test::machine_of({test::l20(0)}), gpu::Topology(1)) {
    share_by_mps(4);
  }

  void write(const std::string& sharing) {
    ASSERT_TRUE(fs_.write_atomic(file_, "version: v1\n" + sharing));
    // A file counts as written once it has stayed the same for a while.
    clock_.advance(seconds(5));
  }
  void share_by_mps(int replicas) {
    write("sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: " +
          std::to_string(replicas) + "}]}}\n");
  }
  void begin() {
    config::Sources sources;
    sources.environment["MPS_ROOT"] = "/run/nvidia/mps";
    source_.emplace(sources, file_.string(), "", clock_);
    auto loaded = source_->read();
    ASSERT_TRUE(loaded) << loaded.error().what;
    config_.emplace(*source_, *std::move(loaded), ConfigFollower::Options{}, log_.log());
    control_.emplace(
        MpsControl::Ports{.config = *config_,
                          .reader = reader_,
                          .tools = tools_,
                          .pause = pause_,
                          .tell = [this](const NodeNotice& notice) { told_.push_back(notice); },
                          .clock = clock_,
                          .log = log_.log()},
        kAsk);
    control_->begin();
  }
  void pass(milliseconds time) {
    while (time > milliseconds(0)) {
      const auto step = std::clamp(control_->longest_sleep(), milliseconds(1), time);
      clock_.advance(step);
      time -= step;
      control_->on_turn();
    }
  }
  bool serves() const { return program_.daemons.contains("gpu"); }

  test::TempDir dir_;
  FsRoot fs_;
  std::filesystem::path file_ = dir_.path() / "config.yaml";
  test::FakeClock clock_;
  test::LogRecorder log_;
  test::FakeReader reader_;
  FakeGpus gpus_;
  FakeProgram program_;
  std::vector<NodeNotice> told_;
  MpsTools tools_ = tools_of(program_, gpus_, dir_.path(), log_.log());
  MpsPause pause_{dir_.path(),
                  nvml::Connection::make(
                      {.driver_root = "/nowhere", .host = FsRoot("/nowhere"), .log = nullptr}),
                  log_.log()};
  std::optional<FileSource> source_;
  std::optional<ConfigFollower> config_;
  std::optional<MpsControl> control_;
};

TEST_F(MpsControlTest, FollowsTheConfiguration) {
  begin();
  EXPECT_TRUE(serves());
  EXPECT_THAT(program_.take(), Contains("gpu: set_default_active_thread_percentage 25"));

  share_by_mps(2);
  control_->on_config_change();
  EXPECT_THAT(program_.take(), Contains("gpu: set_default_active_thread_percentage 50"))
      << "by the daemon that runs";

  write("sharing: {}\n");
  control_->on_config_change();
  EXPECT_FALSE(serves());
  EXPECT_THAT(gpus_.exclusive, IsEmpty());
  EXPECT_EQ(log_.count("the configuration shares nothing by MPS"), 1);
}

TEST_F(MpsControlTest, ARefusedConfigurationChangesNothing) {
  begin();
  program_.take();
  write("sharing: {mps: {resources: nonsense}}\n");
  control_->on_config_change();
  EXPECT_TRUE(serves());
  EXPECT_THAT(program_.take(), IsEmpty());
}

TEST_F(MpsControlTest, ADaemonThatDiedIsStartedAgain) {
  begin();
  program_.take();
  program_.daemons.clear();
  pass(kAsk / 2);
  EXPECT_FALSE(serves()) << "nobody has looked yet";
  pass(kAsk);
  EXPECT_TRUE(serves());

  program_.daemons.clear();
  control_->on_orphan();
  pass(kAsk / 2);
  EXPECT_TRUE(serves()) << "a child that ended is looked after at once";
}

TEST_F(MpsControlTest, SleepsNoLongerThanUntilLogsArePassedOn) {
  begin();
  EXPECT_LE(control_->longest_sleep(), MpsControl::kLogInterval);
  EXPECT_GT(control_->longest_sleep(), milliseconds(0));
}

TEST_F(MpsControlTest, WithoutADriverItWaitsAndSaysSoOnce) {
  reader_.fail_with({Code::kUnavailable, "driver not loaded"});
  begin();
  control_->on_reading(reader_.read());
  EXPECT_EQ(log_.count("driver not loaded"), 1);
  EXPECT_FALSE(serves());
  reader_.recover();
  control_->on_reading(reader_.read());
  EXPECT_TRUE(serves());
}

TEST_F(MpsControlTest, EndsWhatAnEarlierSupervisorLeft) {
  begin();
  // As after a kill: the program runs, and nobody locks its mark.
  const auto mark = mps::paths_of(tools_.root, {"nvidia.com/gpu"}).started;
  const auto kept = dir_.path() / "kept";
  std::filesystem::copy_file(mark, kept);
  control_.reset();
  ASSERT_FALSE(serves());
  std::filesystem::rename(kept, mark);
  program_.daemons = {"gpu"};
  gpus_.exclusive = {test::gpu_uuid(0)};
  write("sharing: {}\n");
  program_.take();
  begin();
  EXPECT_FALSE(serves()) << "though the configuration has no MPS now";
  EXPECT_THAT(gpus_.exclusive, IsEmpty());
}

TEST_F(MpsControlTest, MakesWayForAChangeOfALayoutAndBeginsAgainBehindIt) {
  begin();
  const auto uuid = test::gpu_uuid(0);
  std::shared_ptr<void> quiet;
  std::jthread agent([&] {
    auto taken = pause_mps(tools_.root, {uuid}, {}, seconds(20));
    ASSERT_TRUE(taken) << taken.error().what;
    quiet = *std::move(taken);
  });
  EXPECT_TRUE(test::eventually([&] {
    control_->on_turn();
    return pause_.is_on();
  }));
  agent.join();
  EXPECT_FALSE(serves());
  EXPECT_THAT(gpus_.exclusive, IsEmpty());
  control_->on_reading(reader_.read());
  EXPECT_FALSE(serves()) << "a reading that was under way starts nothing";

  quiet.reset();
  control_->on_turn();
  EXPECT_FALSE(pause_.is_on());
  EXPECT_TRUE(serves());
}

TEST_F(MpsControlTest, LeavesTheLimitsOpenWhereClaimsGetTheGpus) {
  begin();
  program_.take();
  ASSERT_TRUE(mps::write_open(tools_.root, {"nvidia.com/gpu"}));
  control_->on_turn();
  EXPECT_THAT(program_.take(), Contains("gpu: set_default_active_thread_percentage 100"));

  const auto file = mps::open_file(tools_.root);
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  control_->on_turn();
  control_->on_turn();
  EXPECT_THAT(program_.take(), IsEmpty()) << "what cannot be read changes nothing";
  EXPECT_EQ(log_.count(file.string()), 1);
}

}  // namespace
}  // namespace tranche::agent::mps_control_test
