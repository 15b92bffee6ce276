#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/config/mode_follower.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::node_mode_test {
namespace {

using cluster::NodeMode;

class NodeModeTest : public testing::Test {
 protected:
  NodeModeReader reader() {
    return {file_, [this] { return node_; }, log_.log()};
  }
  void label(const char* text) {
    cluster::Node node{.name = "n1"};
    if (text != nullptr) node.labels[cluster::kModeLabel] = text;
    node_ = node;
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  const std::filesystem::path file_ = dir_.path() / "mode";
  Result<cluster::Node> node_ = fail(Code::kUnavailable, "not known yet");
};

TEST_F(NodeModeTest, IsWhatTheLabelSays) {
  auto mode = reader();
  EXPECT_EQ(mode.read(), std::nullopt) << "nobody knows it yet";
  label(nullptr);
  EXPECT_EQ(mode.read(), NodeMode::kDevicePlugin);
  label("dra");
  EXPECT_EQ(mode.read(), NodeMode::kDra);
  EXPECT_EQ(log_.count("is in mode dra now"), 1);
  label("device-plugin");
  EXPECT_EQ(mode.read(), NodeMode::kDevicePlugin);
}

TEST_F(NodeModeTest, IsRememberedForAStartWithoutAnApiServer) {
  label("dra");
  EXPECT_EQ(reader().read(), NodeMode::kDra);
  node_ = fail(Code::kUnavailable, "away");
  EXPECT_EQ(reader().read(), NodeMode::kDra);
  ASSERT_TRUE(FsRoot().write_atomic(file_, "nonsense"));
  EXPECT_EQ(reader().read(), std::nullopt);
}

TEST_F(NodeModeTest, ALabelThatIsNoModeChangesNothing) {
  label("dra");
  auto mode = reader();
  mode.read();
  label("DRA");
  EXPECT_EQ(mode.read(), NodeMode::kDra);
  mode.read();
  EXPECT_EQ(log_.count("the Node's label tranche.dev/mode is 'DRA'"), 1);
  EXPECT_THAT(mode.trouble(), testing::HasSubstr("write device-plugin or dra"));
  label(nullptr);
  EXPECT_EQ(mode.read(), NodeMode::kDevicePlugin);
  EXPECT_EQ(mode.trouble(), "");
}

TEST_F(NodeModeTest, ADiskThatIsFullIsSaidOnce) {
  label("dra");
  NodeModeReader mode(
      dir_.path() / "missing" / "folder" / "mode", [this] { return node_; }, log_.log());
  mode.read();
  EXPECT_EQ(mode.read(), NodeMode::kDra);
  EXPECT_EQ(log_.count("cannot be remembered"), 1);
}

TEST_F(NodeModeTest, TheLoopLooksAgainOnceForEachChange) {
  int looked = 0;
  NodeModeFollower follower(std::make_shared<NodeModeReader>(reader()), [&] { ++looked; });
  const auto tick = [&] { follower.tick({}); };
  tick();
  EXPECT_EQ(looked, 0) << "the Node is not known yet";
  label("dra");
  tick();
  tick();
  EXPECT_EQ(looked, 1) << "also while no offer can be made";
  label("hybrid");
  tick();
  tick();
  EXPECT_EQ(looked, 2) << "the mode stays, and what is wrong with the label is told";
}

}  // namespace
}  // namespace tranche::agent::node_mode_test
