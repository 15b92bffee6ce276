#include "agent/plugins/plugin_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "base/file_identity.h"
#include "base/fs.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::agent::plugin_set_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

deviceplugin::ResourceState resource(const std::string& base, int replicas) {
  deviceplugin::ResourceState state;
  state.offer.name = state.offer.base = {"nvidia.com/" + base};
  state.offer.endpoint = "nvidia-" + base + ".sock";
  state.offer.devices.push_back({.uuid = "GPU-a", .index = "0", .gpu_uuid = "GPU-a"});
  for (int i = 0; i < replicas; ++i) {
    state.offer.tranches.push_back({offer::replica_id("GPU-a", i), 0});
  }
  return state;
}

class PluginSetTest : public testing::Test {
 protected:
  PluginSetTest()
      : registrar_(
            [this](const Registrar::Request& request, const std::stop_token&) -> Result<void> {
              const std::scoped_lock lock(mutex_);
              registered_.push_back(request.resource);
              return {};
            },
            log_.log()),
        plugins_({.dir = dir_.path()}, {.store = [](const auto&) -> Result<void> { return {}; }},
                 &registrar_, log_.log()) {}

  bool socket_exists(const std::string& base) const {
    return FsRoot(dir_.path()).exists("/nvidia-" + base + ".sock");
  }
  FileIdentity socket(const std::string& base) const {
    return identify(dir_.path() / ("nvidia-" + base + ".sock"));
  }
  std::vector<std::string> registered() {
    const std::scoped_lock lock(mutex_);
    return registered_;
  }
  bool registered_times(std::size_t times) {
    return test::eventually([&] { return registered().size() == times; });
  }

  using Seconds = std::chrono::seconds;
  const PluginSet::TimePoint start_{std::chrono::hours(1)};
  test::TempDir dir_;
  test::LogRecorder log_;
  std::mutex mutex_;
  std::vector<std::string> registered_;
  Registrar registrar_;
  PluginSet plugins_;
};

TEST_F(PluginSetTest, AChangedListKeepsSocketAndRegistration) {
  plugins_.apply({resource("gpu", 2)}, start_);
  ASSERT_TRUE(registered_times(1));
  const auto before = socket("gpu");
  plugins_.apply({resource("gpu", 8)}, start_);
  EXPECT_EQ(socket("gpu"), before);
  EXPECT_THAT(registered(), ElementsAre("nvidia.com/gpu"));
}

TEST_F(PluginSetTest, ARenameStartsOneAndRetiresTheOtherAfterAMoment) {
  plugins_.apply({resource("gpu", 1), resource("mig-1g.5gb", 1)}, start_);
  ASSERT_TRUE(registered_times(2));
  const auto untouched = socket("mig-1g.5gb");
  plugins_.apply({resource("gpu.shared", 4), resource("mig-1g.5gb", 1)}, start_);
  EXPECT_TRUE(socket_exists("gpu.shared"));
  EXPECT_TRUE(socket_exists("gpu")) << "still there to send the empty list";
  EXPECT_EQ(socket("mig-1g.5gb"), untouched);
  ASSERT_TRUE(plugins_.next_tick());
  plugins_.tick(*plugins_.next_tick());
  EXPECT_FALSE(socket_exists("gpu"));
  EXPECT_EQ(plugins_.serving(), 2U);
}

TEST_F(PluginSetTest, AResourceThatComesBackWhileRetiringIsServedAnew) {
  plugins_.apply({resource("gpu", 1)}, start_);
  ASSERT_TRUE(registered_times(1));
  plugins_.apply({}, start_);
  plugins_.apply({resource("gpu", 1)}, start_);
  plugins_.tick(start_ + Seconds(60));
  EXPECT_TRUE(socket_exists("gpu"));
  EXPECT_TRUE(registered_times(2));
}

TEST_F(PluginSetTest, ServesAnewWhatLostItsSocketAndOnlyThat) {
  plugins_.apply({resource("a", 1), resource("b", 1)}, start_);
  ASSERT_TRUE(registered_times(2));
  const auto untouched = socket("b");
  ASSERT_TRUE(FsRoot(dir_.path()).remove("/nvidia-a.sock"));
  plugins_.check_sockets(start_);
  EXPECT_TRUE(socket_exists("a"));
  EXPECT_EQ(socket("b"), untouched);
  EXPECT_TRUE(registered_times(3));
}

TEST_F(PluginSetTest, ASocketThatIsTakenAgainAndAgainIsMadeAnewWithBackOff) {
  plugins_.apply({resource("gpu", 1)}, start_);
  ASSERT_TRUE(registered_times(1));
  const FsRoot folder(dir_.path());
  const auto take = [&](Seconds at) {
    EXPECT_TRUE(folder.write_atomic("/nvidia-gpu.sock", "another one's"));
    plugins_.check_sockets(start_ + at);
    return plugins_.take_taken();
  };
  const auto is_ours = [&] { return folder.read("/nvidia-gpu.sock", 100) != "another one's"; };
  EXPECT_THAT(take(Seconds(0)), ElementsAre("nvidia.com/gpu"));
  EXPECT_TRUE(is_ours()) << "the first time at once";
  EXPECT_TRUE(plugins_.socket_trouble("nvidia.com/gpu").empty());
  take(Seconds(1));
  EXPECT_FALSE(is_ours());
  EXPECT_FALSE(plugins_.socket_trouble("nvidia.com/gpu").empty());
  plugins_.tick(start_ + Seconds(2));
  EXPECT_TRUE(is_ours()) << "a second later";
  take(Seconds(3));
  plugins_.tick(start_ + Seconds(4));
  EXPECT_FALSE(is_ours()) << "then two";
  plugins_.tick(*plugins_.next_tick());
  EXPECT_TRUE(is_ours());
  take(Seconds(1000));
  EXPECT_TRUE(is_ours()) << "after a calm time at once again";
}

TEST_F(PluginSetTest, ASocketThatIsFreeIsMadeAnewSoonWhateverHappenedBefore) {
  plugins_.apply({resource("gpu", 1)}, start_);
  const FsRoot folder(dir_.path());
  const auto change = [&](bool taken, Seconds at) {
    if (taken) {
      EXPECT_TRUE(folder.write_atomic("/nvidia-gpu.sock", "another one's"));
    } else {
      EXPECT_TRUE(folder.remove("/nvidia-gpu.sock"));
    }
    plugins_.check_sockets(start_ + at);
  };
  const auto soon = std::chrono::milliseconds(100);
  change(true, Seconds(0));
  change(false, Seconds(5));
  EXPECT_EQ(plugins_.socket_trouble("nvidia.com/gpu"), "");
  plugins_.tick(start_ + Seconds(5) + soon);
  EXPECT_TRUE(socket_exists("gpu")) << "the other plugin has ended";
  change(true, Seconds(10));
  plugins_.tick(start_ + Seconds(11));
  change(true, Seconds(12));  // for two seconds
  change(false, Seconds(12));
  plugins_.tick(start_ + Seconds(12) + soon);
  EXPECT_TRUE(socket_exists("gpu")) << "the wait for the other plugin is over";
}

TEST_F(PluginSetTest, WhoTakesAFreeSocketFirstIsToldOfAndWaitedFor) {
  plugins_.apply({resource("gpu", 1)}, start_);
  const FsRoot folder(dir_.path());
  EXPECT_TRUE(folder.write_atomic("/nvidia-gpu.sock", "another one's"));
  plugins_.check_sockets(start_);
  EXPECT_THAT(plugins_.take_taken(), ElementsAre("nvidia.com/gpu"));
  EXPECT_TRUE(folder.remove("/nvidia-gpu.sock"));
  plugins_.check_sockets(start_ + Seconds(5));
  EXPECT_THAT(plugins_.take_taken(), IsEmpty());
  EXPECT_TRUE(folder.write_atomic("/nvidia-gpu.sock", "another one's"));
  const auto before = socket("gpu");
  plugins_.tick(start_ + Seconds(6));
  EXPECT_THAT(plugins_.take_taken(), ElementsAre("nvidia.com/gpu"));
  EXPECT_EQ(socket("gpu"), before) << "it may want it again and again";
  plugins_.tick(start_ + Seconds(7));
  EXPECT_NE(socket("gpu"), before);
}

TEST_F(PluginSetTest, RegistersAgainWhatIsServed) {
  plugins_.apply({resource("gpu", 1)}, start_);
  ASSERT_TRUE(registered_times(1));
  plugins_.register_again("nvidia.com/gpu");
  plugins_.register_again("nvidia.com/other");
  EXPECT_TRUE(registered_times(2));
}

TEST_F(PluginSetTest, RestartRegistersEverythingAgain) {
  plugins_.apply({resource("a", 1), resource("b", 1)}, start_);
  ASSERT_TRUE(registered_times(2));
  plugins_.restart(start_);
  EXPECT_TRUE(registered_times(4));
  EXPECT_EQ(plugins_.serving(), 2U);
}

TEST_F(PluginSetTest, ARestartedKubeletIsToldWhatItDoesNotKnow) {
  plugins_.apply({resource("a", 1), resource("b", 1), resource("c", 1)}, start_);
  ASSERT_TRUE(registered_times(3));
  const auto known = socket("b");
  const auto unknown = socket("c");
  ASSERT_TRUE(FsRoot(dir_.path()).remove("/nvidia-a.sock"));
  plugins_.follow_kubelet([](const std::string& name) { return name == "nvidia.com/b"; }, start_);
  EXPECT_TRUE(socket_exists("a"));
  EXPECT_EQ(socket("b"), known);
  EXPECT_EQ(socket("c"), unknown);
  ASSERT_TRUE(registered_times(5));
  const auto names = registered();
  EXPECT_THAT((std::vector(names.begin() + 3, names.end())),
              testing::UnorderedElementsAre("nvidia.com/a", "nvidia.com/c"));
}

TEST_F(PluginSetTest, TriesAgainUntilItCanServeAndSaysSoOnce) {
  const test::LogRecorder log;
  const auto folder = dir_.path() / "later";
  PluginSet plugins({.dir = folder}, {.store = [](const auto&) -> Result<void> { return {}; }},
                    nullptr, log.log());
  plugins.apply({resource("gpu", 1)}, start_);
  plugins.tick(start_ + Seconds(1));
  plugins.tick(start_ + Seconds(3));
  EXPECT_EQ(plugins.serving(), 0U);
  EXPECT_EQ(log.count("cannot serve nvidia.com/gpu"), 1);
  ASSERT_TRUE(FsRoot(dir_.path()).make_directories("/later"));
  plugins.tick(start_ + Seconds(60));
  EXPECT_EQ(plugins.serving(), 1U);
  EXPECT_FALSE(plugins.next_tick());
}

TEST_F(PluginSetTest, DoesNotRobAnotherPlugin) {
  plugins_.apply({resource("gpu", 1)}, start_);
  const test::LogRecorder log;
  PluginSet second({.dir = dir_.path()}, {.store = [](const auto&) -> Result<void> { return {}; }},
                   nullptr, log.log());
  second.apply({resource("gpu", 1)}, start_);
  EXPECT_EQ(second.serving(), 0U);
  EXPECT_EQ(log.count("--take-over"), 1);
  plugins_.apply({}, start_);
  plugins_.tick(start_ + Seconds(60));
  second.tick(start_ + Seconds(60));
  EXPECT_EQ(second.serving(), 1U) << "taken once nobody answers";
}

}  // namespace
}  // namespace tranche::agent::plugin_set_test
