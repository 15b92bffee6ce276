#include "agent/mps/mps_pause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/fs.h"
#include "mps/plan.h"
#include "mps/ready_file.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::mps_pause_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr milliseconds kNow{0};
constexpr milliseconds kLong{30'000};

class MpsPauseTest : public testing::Test {
 protected:
  // As after a kill of the supervisor.
  std::filesystem::path leave(const std::string& resource, std::vector<std::string> gpus) {
    const auto file = mps::paths_of(dir_.path(), {resource}).started;
    EXPECT_TRUE(FsRoot().make_directories(file.parent_path()));
    const auto copy = file.string() + ".copy";
    {
      const auto made = mps::ReadyFile::put(file, gpus);
      EXPECT_TRUE(made);
      std::filesystem::copy_file(file, copy);
    }
    std::filesystem::rename(copy, file);
    return file;
  }
  auto pause(milliseconds limit, const std::stop_token& stop = {}) {
    return pause_mps(dir_.path(), {"GPU-a", "GPU-b"}, stop, limit);
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  std::shared_ptr<nvml::Connection> driver_ = nvml::Connection::make(
      {.driver_root = "/nowhere", .host = FsRoot("/nowhere"), .log = nullptr});
  MpsPause supervisor_{dir_.path(), driver_, log_.log()};
};

TEST_F(MpsPauseTest, WithoutASupervisorNobodyIsWaitedFor) {
  EXPECT_TRUE(pause(kNow));
  EXPECT_TRUE(pause_mps(dir_.path() / "none", {"GPU-a"}, {}, kNow)) << "nor without the folder";
}

TEST_F(MpsPauseTest, DaemonsThatEndAreTold) {
  EXPECT_TRUE(mps_on(dir_.path() / "none", {"GPU-a"}).empty());
  const auto serving = mps::paths_of(dir_.path(), {"nvidia.com/gpu"}).started;
  ASSERT_TRUE(FsRoot().make_directories(serving.parent_path()));
  const auto mark = mps::ReadyFile::put(serving, std::vector<std::string>{"GPU-a", "GPU-b"});
  ASSERT_TRUE(mark);
  leave("nvidia.com/other", {"GPU-c"});
  const auto found = mps_on(dir_.path(), {"GPU-b", "GPU-d"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].resource, "nvidia.com/gpu");
  EXPECT_THAT(found[0].gpus, ElementsAre("GPU-a", "GPU-b"));
  EXPECT_EQ(mps_on(dir_.path(), {"GPU-b", "GPU-c"}).size(), 2U);
}

TEST_F(MpsPauseTest, ASupervisorIsToldWhichGpusAndLetsGo) {
  ASSERT_TRUE(supervisor_.begin());
  EXPECT_EQ(supervisor_.wish(), std::nullopt);
  std::jthread lets_go([this] {
    std::optional<std::set<std::string>> gpus;
    while (!gpus) gpus = supervisor_.wish();
    EXPECT_THAT(*gpus, ElementsAre("GPU-a", "GPU-b"));
    supervisor_.release_driver();
  });
  auto held = pause(kLong);
  lets_go.join();
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_TRUE(supervisor_.is_on());
  EXPECT_EQ(supervisor_.wish(), std::nullopt) << "it is met";
  EXPECT_FALSE(supervisor_.begin());
  held->reset();
  EXPECT_TRUE(supervisor_.begin());
  EXPECT_FALSE(supervisor_.is_on());
}

TEST_F(MpsPauseTest, ASupervisorThatBeginsMeanwhileWaits) {
  auto held = pause(kNow);
  ASSERT_TRUE(held);
  EXPECT_FALSE(supervisor_.begin());
  EXPECT_TRUE(supervisor_.is_on());
  EXPECT_FALSE(driver_->session());
  held->reset();
  EXPECT_TRUE(supervisor_.begin());
}

TEST_F(MpsPauseTest, ASupervisorThatHangsIsNamed) {
  ASSERT_TRUE(supervisor_.begin());
  const auto held = pause(kNow);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::kTimeout);
  EXPECT_THAT(held.error().what, HasSubstr("mps-control-daemon) does not let go"));
}

TEST_F(MpsPauseTest, ADaemonThatWasLeftBehindIsNamed) {
  leave("nvidia.com/gpu.shared", {"GPU-b"});
  const auto held = pause(kNow);
  ASSERT_FALSE(held);
  EXPECT_THAT(held.error().what, HasSubstr("the MPS control daemon of nvidia.com/gpu.shared"));
  EXPECT_TRUE(supervisor_.begin()) << "the next supervisor may end it";
}

TEST_F(MpsPauseTest, ADaemonThatWasLeftOnOtherGpusIsInNobodysWay) {
  leave("nvidia.com/gpu.other", {"GPU-c"});
  EXPECT_TRUE(pause(kNow));
}

TEST_F(MpsPauseTest, ASupervisorThatComesBackEndsWhatWasLeft) {
  const auto file = leave("nvidia.com/gpu.shared", {"GPU-b"});
  std::jthread comes([&] {
    while (!supervisor_.begin()) std::this_thread::yield();
    std::filesystem::remove(file);
    while (!supervisor_.wish()) std::this_thread::yield();
    supervisor_.release_driver();
  });
  EXPECT_TRUE(pause(kLong));
}

TEST_F(MpsPauseTest, AFolderThatCannotBeWrittenIsSaid) {
  std::filesystem::create_directory(dir_.path() / kMpsLock);  // root writes everywhere
  const auto held = pause(kNow);
  ASSERT_FALSE(held);
  EXPECT_THAT(held.error().what,
              HasSubstr("ask the supervisor of the MPS control daemons to let go: "));
  EXPECT_THAT(held.error().hint, HasSubstr("writable"));
}

TEST_F(MpsPauseTest, AStopEndsTheWait) {
  leave("nvidia.com/gpu.shared", {"GPU-b"});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(pause(kLong, stop.get_token()));
}

}  // namespace
}  // namespace tranche::agent::mps_pause_test
