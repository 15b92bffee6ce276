#include "agent/plugins/driver_files_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/plugins/cdi_publisher.h"
#include "offer/make_offer.h"
#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/temp_dir.h"

namespace tranche::agent::driver_files_input_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kVersion = "570.158.01";
const std::string kLib = "/usr/lib/x86_64-linux-gnu";

// A node whose driver's files come and go, and its rounds of the loop.
struct Node {
  Node() {
    for (const char* name : {"libcuda", "libnvidia-ml", "libnvidia-nvvm"}) add(name);
    state.machine = test::machine_of({test::a100_40gb(0)});
    state.machine->driver_version = kVersion;
    state.config.flags.plugin.container_driver_root = dir.path().string();
    state.config.flags.plugin.device_list_strategies = {config::DeviceListStrategy::kCdiCri};
    options.cdi_root = (dir.path() / "cdi").string();
  }
  std::filesystem::path at(const std::string& name) const {
    return FsRoot(dir.path()).resolve(kLib + "/" + name + ".so." + kVersion);
  }
  void add(const std::string& name) const {
    std::filesystem::create_directories(at(name).parent_path());
    std::ofstream(at(name)) << "x";
  }
  void remove(const std::string& name) const { std::filesystem::remove(at(name)); }

  // One reading later.
  Result<void> round() {
    clock.advance(std::chrono::seconds(4));
    return same_round();
  }
  Result<void> same_round() {
    offer = offer::make_offer(*state.machine, state.config, {});
    input.look(offer, state);
    offer = offer_what_cdi_can_name(state, std::move(offer));
    return publisher.follow({state, std::make_shared<const offer::Offer>(offer)});
  }
  std::string file() const {
    const auto text = FsRoot().read(dir.path() / "cdi/k8s.device-plugin.nvidia.com-gpu.json");
    return text.value_or("");
  }
  std::string unhealthy() const { return offer.resources.at(0).devices.at(0).unhealthy_reason; }
  std::string log_text() const {
    std::string text;
    for (const auto& [level, line] : log.lines()) text += line + "\n";
    return text;
  }

  test::TempDir dir;
  test::FakeClock clock;
  test::LogRecorder log;
  config::AgentOptions options;
  State state;
  offer::Offer offer;
  DriverFilesInput input{options, false, clock};
  CdiPublisher publisher{options_at(), log.log()};

 private:
  config::AgentOptions options_at() {
    auto at = options;
    at.cdi_root = (dir.path() / "cdi").string();
    return at;
  }
};

TEST(DriverFilesInput, ALibraryThatComesOrGoesIsInTheNextFile) {
  Node node;
  ASSERT_TRUE(node.round());
  EXPECT_THAT(node.file(), HasSubstr("libnvidia-nvvm.so"));
  node.remove("libnvidia-nvvm");
  node.add("libnvidia-ptxjitcompiler");
  ASSERT_TRUE(node.round());
  EXPECT_THAT(node.file(), Not(HasSubstr("libnvidia-nvvm.so")));
  EXPECT_THAT(node.file(), HasSubstr("libnvidia-ptxjitcompiler.so"));
  EXPECT_THAT(node.log_text(), HasSubstr("libraries of the driver are gone, so containers that "
                                         "start from now on get none of them: " +
                                         kLib + "/libnvidia-nvvm.so." + kVersion));
  EXPECT_TRUE(node.unhealthy().empty());
}

TEST(DriverFilesInput, ALinkThatLeadsToNothingIsLeftOutAndToldOnce) {
  Node node;
  node.remove("libnvidia-nvvm");
  std::filesystem::create_symlink("/nonexistent/x", node.at("libnvidia-nvvm"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(node.round());
  EXPECT_THAT(node.file(), Not(HasSubstr("libnvidia-nvvm")));
  const auto text = node.log_text();
  const auto first = text.find("is a link that leads to no file");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("is a link that leads to no file", first + 1), std::string::npos) << text;
}

TEST(DriverFilesInput, WithoutLibcudaTheDevicesAreUnhealthyAndNoFileIsLeftUntilItIsBack) {
  Node node;
  ASSERT_TRUE(node.round());
  node.remove("libcuda");
  ASSERT_TRUE(node.round());
  EXPECT_THAT(node.unhealthy(), HasSubstr("libcuda.so." + kVersion + " not found"));
  EXPECT_THAT(node.input.trouble(node.state), HasSubstr("not found under the driver root"));
  EXPECT_EQ(node.file(), "");
  node.add("libcuda");
  ASSERT_TRUE(node.round());
  EXPECT_EQ(node.unhealthy(), "");
  EXPECT_EQ(node.input.trouble(node.state), "");
  EXPECT_THAT(node.file(), HasSubstr("libcuda.so." + kVersion));
}

TEST(DriverFilesInput, WithoutLibcudaFromTheBeginningNothingIsServedAndAFileOfBeforeStays) {
  Node node;
  ASSERT_TRUE(node.round());
  Node later;
  later.remove("libcuda");
  std::filesystem::create_directories(later.dir.path() / "cdi");
  std::filesystem::copy(node.dir.path() / "cdi", later.dir.path() / "cdi",
                        std::filesystem::copy_options::recursive);
  const auto refused = later.round();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("unable to create cdi spec file: libcuda"));
  EXPECT_NE(later.file(), "") << "the driver may be where the agent before this one saw it";
  EXPECT_FALSE(later.state.get<DriverStanding>().were_there);
}

TEST(CdiPublisher, AFileThatSomebodyRemovedIsWrittenAgainAndAnothersIsLeft) {
  Node node;
  node.publisher.tick({});
  EXPECT_EQ(node.file(), "") << "nothing is published yet";
  ASSERT_TRUE(node.round());
  const auto text = node.file();
  const auto folder = node.dir.path() / "cdi";
  std::filesystem::remove_all(folder);
  std::ofstream(folder) << "in the way";
  node.publisher.tick({});
  node.publisher.tick({});
  const auto count = [&node](std::string_view line) {
    return std::ranges::count_if(node.log.lines(),
                                 [&](const auto& one) { return one.second.contains(line); });
  };
  EXPECT_EQ(count("a CDI file cannot be written"), 1);
  std::filesystem::remove(folder);
  node.publisher.tick({});
  EXPECT_EQ(node.file(), text);
  EXPECT_EQ(count("somebody else removed a file"), 1);
  std::ofstream(folder / "k8s.device-plugin.nvidia.com-gpu.json") << "another's";
  node.publisher.tick({});
  EXPECT_EQ(node.file(), "another's");
}

TEST(CdiPublisher, WhatIsNotWantedOrAnotherAgentsIsNotWrittenAgain) {
  Node node;
  ASSERT_TRUE(node.round());
  node.remove("libcuda");
  ASSERT_TRUE(node.round());
  node.publisher.tick({});
  EXPECT_EQ(node.file(), "") << "the driver is gone";
  node.add("libcuda");
  ASSERT_TRUE(node.round());
  std::filesystem::remove_all(node.dir.path() / "cdi");
  node.publisher.rest();
  node.publisher.tick({});
  EXPECT_EQ(node.file(), "") << "the next agent serves";
}

TEST(DriverFilesInput, ADriverRootThatIsMountedLaterIsFound) {
  Node node;
  const auto away = node.dir.path() / "away";
  std::filesystem::rename(node.dir.path() / "usr", away);
  ASSERT_FALSE(node.round());
  std::filesystem::rename(away, node.dir.path() / "usr");
  ASSERT_TRUE(node.round());
  EXPECT_THAT(node.file(), HasSubstr("libcuda.so." + kVersion));
}

TEST(DriverFilesInput, AnUpgradeInPlaceIsFollowedWhenTheDriverTellsTheVersion) {
  Node node;
  ASSERT_TRUE(node.round());
  for (const char* name : {"libcuda", "libnvidia-ml", "libnvidia-nvvm"}) {
    const auto old = node.at(name);
    std::filesystem::rename(old, old.parent_path() / (std::string(name) + ".so.580.1.2"));
  }
  ASSERT_TRUE(node.round());
  EXPECT_THAT(node.unhealthy(), HasSubstr("libcuda.so." + kVersion + " not found"));
  node.state.machine->driver_version = "580.1.2";
  ASSERT_TRUE(node.same_round()) << "at once";
  EXPECT_THAT(node.file(), HasSubstr("libnvidia-nvvm.so.580.1.2"));
  EXPECT_THAT(node.log_text(), Not(HasSubstr("libraries of the driver are gone")));
}

TEST(DriverFilesInput, FilesAreLookedForAtMostOnceInTwoSecondsAndTheSameAreTheSameValue) {
  Node node;
  ASSERT_TRUE(node.round());
  const auto files = node.state.get<DriverStanding>().files;
  node.remove("libnvidia-nvvm");
  ASSERT_TRUE(node.same_round());
  EXPECT_EQ(node.state.get<DriverStanding>().files, files);
  node.add("libnvidia-nvvm");
  ASSERT_TRUE(node.round());
  EXPECT_EQ(node.state.get<DriverStanding>().files, files);
}

TEST(DriverFilesInput, WhatWasQuietForLongIsSeenToo) {
  Node node;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(node.round());
  node.remove("libnvidia-nvvm");
  ASSERT_TRUE(node.round());
  EXPECT_THAT(node.file(), Not(HasSubstr("libnvidia-nvvm")));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(node.round());
  std::filesystem::create_symlink(node.dir.path() / "elsewhere", node.at("libnvidia-nvvm"));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(node.round());
  std::ofstream(node.dir.path() / "elsewhere") << "x";
  node.clock.advance(std::chrono::minutes(1));
  ASSERT_TRUE(node.round());
  EXPECT_THAT(node.state.get<DriverStanding>().files->dangling, testing::SizeIs(1))
      << "of the host's path, which the driver root has not";
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(node.round());
  node.remove("libcuda");
  ASSERT_TRUE(node.round());
  EXPECT_NE(node.unhealthy(), "");
}

TEST(DriverFilesInput, WithoutACdiStrategyNothingIsLookedFor) {
  Node node;
  node.remove("libcuda");
  node.state.config.flags.plugin.device_list_strategies = {config::DeviceListStrategy::kEnvvar};
  ASSERT_TRUE(node.round());
  EXPECT_EQ(node.state.get<DriverStanding>(), DriverStanding());
  EXPECT_EQ(node.unhealthy(), "");
}

}  // namespace
}  // namespace tranche::agent::driver_files_input_test
