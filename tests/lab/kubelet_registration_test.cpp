// Registration, the device list, and what happens when a plugin or the stand-in goes away.

#include <filesystem>
#include <fstream>
#include <thread>

#include "lab/kubelet_fixture.h"

namespace tranche::test::kubelet_registration_test {
namespace {

using lab::RegisterFault;

class RegistrationTest : public KubeletTest {};

TEST_F(RegistrationTest, CountsHealthyDevicesAsAllocatable) {
  auto plugin =
      connect({.devices = {{.id = "b", .healthy = false}, {.id = "a", .numa_nodes = {0}}}});
  EXPECT_EQ(kubelet.capacity(kGpu), 2);
  EXPECT_EQ(kubelet.allocatable(kGpu), 1);
  const std::vector<lab::Device> expected = {{.id = "a", .numa_nodes = {0}},
                                             {.id = "b", .healthy = false}};
  EXPECT_EQ(kubelet.devices(kGpu), expected);

  plugin->set_devices(devices({"a", "b", "c"}));
  EXPECT_TRUE(kubelet.wait_allocatable(kGpu, 3, kDeadline));
  EXPECT_EQ(kubelet.status().at(kGpu).lists_received, 2);
}

TEST_F(RegistrationTest, RecordsWhatThePluginSaid) {
  const auto plugin = connect({.devices = devices({"a"}), .pre_start_required = true});
  const auto all = kubelet.registrations();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].resource, kGpu);
  EXPECT_EQ(all[0].endpoint, "example-gpu.sock");
  EXPECT_EQ(all[0].version, "v1beta1");
  EXPECT_TRUE(all[0].options.pre_start_required);
  EXPECT_EQ(all[0].time, clock.wall_now());
  EXPECT_EQ(all[0].error, "");
}

TEST_F(RegistrationTest, RefusesAVersionAndAName) {
  FakePlugin plugin(plugins(), {.resource = "gpu"});
  const auto version = plugin.register_with_kubelet("v2");
  ASSERT_FALSE(version);
  EXPECT_TRUE(version.error().what.starts_with("requested API version \"v2\" is not supported"));
  const auto name = plugin.register_with_kubelet();
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().what, "the ResourceName \"gpu\" is invalid");
  EXPECT_EQ(kubelet.registrations().size(), 2U);
  EXPECT_TRUE(kubelet.status().empty());
}

TEST_F(RegistrationTest, APluginThatDoesNotAnswerIsRefused) {
  lab::Kubelet hasty({.root = dir.path() / "hasty", .dial_timeout = std::chrono::milliseconds(50)},
                     clock, log);
  ASSERT_TRUE(hasty.start());
  FakePlugin plugin(dir.path() / "hasty" / "device-plugins", {});
  std::filesystem::remove(plugin.socket());
  const auto result = plugin.register_with_kubelet();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what, "failed to dial device plugin: context deadline exceeded");
}

TEST_F(RegistrationTest, AStreamThatEndsLeavesCapacityForTheGraceTime) {
  auto plugin = connect({.devices = devices({"a", "b"})});
  plugin.reset();
  ASSERT_TRUE(kubelet.wait_allocatable(kGpu, 0, kDeadline));
  EXPECT_EQ(kubelet.capacity(kGpu), 2);
  EXPECT_FALSE(kubelet.status().at(kGpu).connected);

  clock.advance(std::chrono::minutes(5));
  EXPECT_EQ(kubelet.capacity(kGpu), 2);
  clock.advance(std::chrono::seconds(1));
  EXPECT_TRUE(kubelet.status().empty());

  plugin = connect({.devices = devices({"a", "b"})});
  EXPECT_EQ(kubelet.allocatable(kGpu), 2);
}

TEST_F(RegistrationTest, ANewEndpointReplacesTheOld) {
  const auto old_plugin = connect({.devices = devices({"a", "b"})});
  const auto new_plugin = connect({.endpoint = "other.sock", .devices = devices({"x"})});
  EXPECT_EQ(kubelet.allocatable(kGpu), 1);
  EXPECT_EQ(kubelet.admit(pod("p", 1)).phase, "Running");
  EXPECT_EQ(new_plugin->calls().allocate.size(), 1U);
  EXPECT_TRUE(old_plugin->calls().allocate.empty());
  EXPECT_EQ(kubelet.devices(kGpu).at(0).id, "x");
  EXPECT_TRUE(kubelet.status().at(kGpu).connected);
}

TEST_F(RegistrationTest, TheStreamOfAReplacedPluginStaysOpen) {
  auto old = connect({.devices = devices({"a"})});
  const auto fresh = connect({.endpoint = "fresh.sock", .devices = devices({"b", "c"})});
  // The list is the old one's, and the new one is asked.
  old->set_devices(devices({"a"}));
  EXPECT_TRUE(kubelet.wait_allocatable(kGpu, 1, kDeadline));
  ASSERT_TRUE(kubelet.allocate_raw(kGpu, {"a"}));
  EXPECT_EQ(fresh->calls().allocate.size(), 1U);
  // The end of any stream takes the resource away, until a plugin registers.
  old.reset();
  EXPECT_TRUE(kubelet.wait_allocatable(kGpu, 0, kDeadline));
  EXPECT_FALSE(kubelet.allocate_raw(kGpu, {"b"}));
  EXPECT_TRUE(fresh->register_with_kubelet());
  EXPECT_TRUE(kubelet.wait_allocatable(kGpu, 2, kDeadline));
  EXPECT_TRUE(kubelet.allocate_raw(kGpu, {"b"}));
}

TEST_F(RegistrationTest, StartRemovesAllButFoldersAndTheCheckpoint) {
  auto plugin = connect({.devices = devices({"a"})});
  ASSERT_EQ(kubelet.admit(pod("p", 1)).phase, "Running");
  std::filesystem::create_directory(plugins() / "folder");
  std::ofstream(plugins() / "lock") << "x";
  ASSERT_TRUE(kubelet.restart());
  EXPECT_FALSE(std::filesystem::exists(plugin->socket()));
  EXPECT_FALSE(std::filesystem::exists(plugins() / "lock"));
  EXPECT_TRUE(std::filesystem::exists(plugins() / "folder"));
  EXPECT_TRUE(std::filesystem::exists(plugins() / "kubelet_internal_checkpoint"));
  EXPECT_TRUE(std::filesystem::exists(kubelet.registration_socket()));
}

TEST_F(RegistrationTest, AfterARestartResourcesAreKnownWithoutDevices) {
  auto plugin = connect({.devices = devices({"a", "b"})});
  ASSERT_EQ(kubelet.admit(pod("p", 1)).phase, "Running");
  ASSERT_TRUE(kubelet.restart());
  EXPECT_EQ(kubelet.status().at(kGpu).capacity, 0);
  EXPECT_EQ(kubelet.status().at(kGpu).allocated, 1);
  plugin = connect({.devices = devices({"a", "b"})});
  EXPECT_EQ(kubelet.allocatable(kGpu), 2);
  EXPECT_EQ(kubelet.registrations().size(), 2U);
}

TEST_F(RegistrationTest, ADamagedCheckpointIsLeftBehind) {
  auto plugin = connect({.devices = devices({"a"})});
  ASSERT_EQ(kubelet.admit(pod("p", 1)).phase, "Running");
  kubelet.stop();
  std::ofstream(plugins() / "kubelet_internal_checkpoint") << "{";
  ASSERT_TRUE(kubelet.start());
  EXPECT_TRUE(kubelet.status().empty());
}

TEST_F(RegistrationTest, AStoppedStandInHasNoSockets) {
  auto plugin = connect({.devices = devices({"a"})});
  kubelet.stop();
  EXPECT_FALSE(std::filesystem::exists(kubelet.registration_socket()));
  EXPECT_FALSE(std::filesystem::exists(kubelet.pod_resources_socket()));
  EXPECT_EQ(kubelet.allocatable(kGpu), 0);
  EXPECT_FALSE(plugin->register_with_kubelet("v1beta1", 200));
}

TEST_F(RegistrationTest, StartingTwiceIsRefused) {
  const auto again = kubelet.start();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kFailedPrecondition);
}

TEST_F(RegistrationTest, APathTooLongForASocketIsReported) {
  lab::Kubelet deep({.root = dir.path() / std::string(100, 'x')}, clock, log);
  const auto started = deep.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kInvalidArgument);
  EXPECT_NE(started.error().what.find("too long for a unix socket"), std::string::npos);
}

TEST_F(RegistrationTest, CanRefuseRegistrations) {
  kubelet.set_fault(RegisterFault::kError);
  FakePlugin plugin(plugins(), {.devices = devices({"a"})});
  const auto refused = plugin.register_with_kubelet();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "the stand-in was told to refuse registrations");
  kubelet.set_fault(RegisterFault::kNone);
  EXPECT_TRUE(plugin.register_with_kubelet());
}

TEST_F(RegistrationTest, CanHangOnRegistrations) {
  kubelet.set_fault(RegisterFault::kHang);
  FakePlugin plugin(plugins(), {.devices = devices({"a"})});
  const auto late = plugin.register_with_kubelet("v1beta1", 100);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kTimeout);

  Result<void> waited = fail(Code::kInternal, "not done");
  std::jthread waiting([&] { waited = plugin.register_with_kubelet(); });
  kubelet.set_fault(RegisterFault::kNone);
  waiting.join();
  EXPECT_TRUE(waited) << waited.error().what;
}

TEST_F(RegistrationTest, StopsWhileRegistrationsHang) {
  kubelet.set_fault(RegisterFault::kHang);
  FakePlugin plugin(plugins(), {.devices = devices({"a"})});
  std::jthread waiting([&] { EXPECT_FALSE(plugin.register_with_kubelet()); });
  kubelet.stop();
}

TEST_F(RegistrationTest, SpeaksToPluginsAsLocalhost) {
  const auto plugin = connect({.devices = devices({"a"})});
  EXPECT_EQ(plugin->authority(), "localhost");
}

TEST_F(RegistrationTest, WaitingEndsAtTheDeadline) {
  EXPECT_FALSE(kubelet.wait_allocatable(kGpu, 1, std::chrono::milliseconds(1)));
}

}  // namespace
}  // namespace tranche::test::kubelet_registration_test
