#include "agent/labels/label_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/temp_dir.h"

namespace tranche::agent::label_publisher_test {
namespace {

using config::LabelsMode;
using testing::HasSubstr;

class LabelPublisherTest : public testing::Test {
 protected:
  LabelPublisherTest() {
    config_.flags.gfd.output_file = (dir_.path() / "features.d" / "gfd").string();
    // The age of files is measured by the real clock.
    clock_.advance(std::chrono::system_clock::now() - clock_.wall_now());
  }

  void make_folder() { ASSERT_TRUE(FsRoot(dir_.path()).make_directories("/features.d")); }
  void put(std::string_view text) {
    ASSERT_TRUE(FsRoot(dir_.path()).write_atomic("/features.d/gfd", text));
  }
  std::string text() const { return FsRoot(dir_.path()).read("/features.d/gfd").value_or(""); }

  test::TempDir dir_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  config::Config config_;
  const gpu::Machine machine_ = test::machine_of({test::l20(0)});
};

TEST_F(LabelPublisherTest, WritesOnceUntilSomethingChanges) {
  make_folder();
  LabelPublisher labels(LabelsMode::kAuto, nullptr, clock_, log_.log());
  labels.update({.machine = machine_, .config = config_});
  EXPECT_THAT(text(), HasSubstr("nvidia.com/gpu.product=NVIDIA-L20\n"));
  labels.update({.machine = machine_, .config = config_});
  EXPECT_EQ(log_.count("wrote"), 1);
  config_.sharing.time_slicing =
      config::ReplicatedResources{.resources = {{.name = {"nvidia.com/gpu"}, .replicas = 8}}};
  labels.update({.machine = machine_, .config = config_});
  EXPECT_THAT(text(), HasSubstr("nvidia.com/gpu.product=NVIDIA-L20-SHARED\n"));
  EXPECT_THAT(text(), HasSubstr("nvidia.com/gpu.replicas=8\n"));
}

TEST_F(LabelPublisherTest, AMissingFolderIsOneWarning) {
  LabelPublisher labels(LabelsMode::kAuto, nullptr, clock_, log_.log());
  labels.update({.machine = machine_, .config = config_});
  labels.update({.machine = machine_, .config = config_});
  EXPECT_EQ(log_.count("labels are not written"), 1);
}

TEST_F(LabelPublisherTest, AnotherWritersFreshFileIsLeftAlone) {
  make_folder();
  put("nvidia.com/gpu.count=1\n");
  LabelPublisher labels(LabelsMode::kAuto, nullptr, clock_, log_.log());
  labels.update({.machine = machine_, .config = config_});
  labels.finish();
  EXPECT_EQ(text(), "nvidia.com/gpu.count=1\n");
  EXPECT_EQ(log_.count("left to the other writer"), 1);
}

TEST_F(LabelPublisherTest, ItIsTakenOverWhenAbandonedOrWhenTold) {
  make_folder();
  put("nvidia.com/gpu.count=1\n");
  LabelPublisher told(LabelsMode::kOn, nullptr, clock_, log_.log());
  told.update({.machine = machine_, .config = config_});
  EXPECT_THAT(text(), HasSubstr("NVIDIA-L20"));

  put("nvidia.com/gpu.count=1\n");
  LabelPublisher waiting(LabelsMode::kAuto, nullptr, clock_, log_.log());
  waiting.update({.machine = machine_, .config = config_});
  EXPECT_EQ(text(), "nvidia.com/gpu.count=1\n");
  clock_.advance(labels::FeatureFile::kStale + std::chrono::seconds(5));
  waiting.update({.machine = machine_, .config = config_});
  EXPECT_THAT(text(), HasSubstr("NVIDIA-L20"));
}

TEST_F(LabelPublisherTest, WritesAgainWhatWasRemoved) {
  make_folder();
  LabelPublisher labels(LabelsMode::kAuto, nullptr, clock_, log_.log());
  labels.update({.machine = machine_, .config = config_});
  ASSERT_TRUE(FsRoot(dir_.path()).remove("/features.d/gfd"));
  labels.update({.machine = machine_, .config = config_});
  EXPECT_FALSE(text().empty());
}

TEST_F(LabelPublisherTest, TakesItsFileAwayAtTheEnd) {
  make_folder();
  LabelPublisher labels(LabelsMode::kAuto, nullptr, clock_, log_.log());
  labels.update({.machine = machine_, .config = config_});
  labels.finish();
  EXPECT_TRUE(text().empty());
}

TEST_F(LabelPublisherTest, OffMeansOff) {
  make_folder();
  LabelPublisher labels(LabelsMode::kOff, nullptr, clock_, log_.log());
  labels.update({.machine = machine_, .config = config_});
  EXPECT_TRUE(text().empty());
  EXPECT_TRUE(log_.lines().empty());
}

}  // namespace
}  // namespace tranche::agent::label_publisher_test
