// Admission of Pods: the devices chosen, requests to the plugin, failures, replayed answers.

#include <thread>

#include "lab/kubelet_fixture.h"

namespace tranche::test::kubelet_admission_test {
namespace {

class AdmissionTest : public KubeletTest {};

TEST_F(AdmissionTest, GivesDevicesAndThePluginsAnswer) {
  const auto plugin = connect({.devices = devices({"b", "a", "c"})});
  const lab::PodStatus status = kubelet.admit(pod("p", 2));
  EXPECT_EQ(status.phase, "Running");
  const lab::Holding& holding = status.containers.at("c").at(kGpu);
  EXPECT_EQ(holding.ids, (lab::Ids{"a", "b"}));
  EXPECT_EQ(holding.answer, expected_answer({"a", "b"}));
  EXPECT_EQ(kubelet.status().at(kGpu).allocated, 2);
}

TEST_F(AdmissionTest, FollowsThePluginsPreference) {
  const auto plugin = connect({.devices = devices({"a", "b", "c"}), .preferred = lab::Ids{"c"}});
  EXPECT_EQ(kubelet.admit(pod("p", 1)).containers.at("c").at(kGpu).ids, lab::Ids{"c"});
  EXPECT_EQ(kubelet.admit(pod("q", 1)).containers.at("c").at(kGpu).ids, lab::Ids{"a"});
  const auto asked = plugin->calls().preferred_available;
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0], (lab::Ids{"a", "b", "c"}));
  EXPECT_EQ(asked[1], (lab::Ids{"a", "b"}));
}

TEST_F(AdmissionTest, AppContainersTakeOverTheInitContainersDevices) {
  const auto plugin = connect({.devices = devices({"a", "b", "c"}), .preferred = lab::Ids{"b"}});
  const lab::PodStatus status =
      kubelet.admit({.name = "p",
                     .containers = {{.name = "one", .limits = {{kGpu, 2}}},
                                    {.name = "two", .limits = {{kGpu, 1}}}},
                     .init_containers = {{.name = "init", .limits = {{kGpu, 1}}}}});
  EXPECT_EQ(status.containers.at("init").at(kGpu).ids, lab::Ids{"b"});
  EXPECT_EQ(status.containers.at("one").at(kGpu).ids, (lab::Ids{"a", "b"}));
  EXPECT_EQ(status.containers.at("two").at(kGpu).ids, lab::Ids{"c"});
  EXPECT_EQ(kubelet.status().at(kGpu).allocated, 3);
  const auto must_include = plugin->calls().preferred_must_include;
  ASSERT_EQ(must_include.size(), 3U);
  EXPECT_EQ(must_include[1], lab::Ids{"b"});
}

TEST_F(AdmissionTest, APluginsErrorRejectsThePod) {
  auto plugin = connect({.devices = devices({"a"}), .allocate_error = "no, because"});
  const lab::PodStatus status = kubelet.admit(pod("p", 1));
  EXPECT_EQ(status.phase, "Failed");
  EXPECT_EQ(status.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(status.message,
            "Allocate failed due to rpc error: code = Unknown desc = no, because, which is "
            "unexpected");
  EXPECT_EQ(kubelet.status().at(kGpu).allocated, 0);
}

TEST_F(AdmissionTest, TooFewDevicesRejectThePod) {
  auto plugin = connect({.devices = devices({"a"})});
  ASSERT_EQ(kubelet.admit(pod("p", 1)).phase, "Running");
  const lab::PodStatus status = kubelet.admit(pod("q", 1));
  EXPECT_EQ(status.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(status.message,
            "Allocate failed due to requested number of devices unavailable for example.com/gpu. "
            "Requested: 1, Available: 0, which is unexpected");

  ASSERT_TRUE(kubelet.remove("default/p"));
  EXPECT_EQ(kubelet.admit(pod("q2", 1)).phase, "Running");
  const auto unknown = kubelet.remove("default/p");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
}

TEST_F(AdmissionTest, UnhealthyDevicesAreNotGivenOut) {
  const auto plugin = connect({.devices = {{.id = "a", .healthy = false}}});
  EXPECT_EQ(kubelet.admit(pod("p", 1)).message,
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices "
            "example.com/gpu, which is unexpected");
}

TEST_F(AdmissionTest, AResourceNobodyOffersIsOutOf) {
  const lab::PodStatus status = kubelet.admit(pod("p", 1));
  EXPECT_EQ(status.phase, "Failed");
  EXPECT_EQ(status.reason, "OutOfexample.com/gpu");
}

TEST_F(AdmissionTest, ARejectedPodKeepsNothingOfEarlierContainers) {
  const auto plugin = connect({.devices = devices({"a", "b"})});
  const lab::PodStatus status = kubelet.admit(
      {.name = "p",
       .containers = {{.name = "1", .limits = {{kGpu, 1}}}, {.name = "2", .limits = {{kGpu, 2}}}}});
  EXPECT_EQ(status.phase, "Failed");
  EXPECT_EQ(kubelet.status().at(kGpu).allocated, 0);
}

TEST_F(AdmissionTest, AContainerRestartReplaysTheStoredAnswer) {
  auto plugin = connect({.devices = devices({"a"})});
  ASSERT_EQ(kubelet.admit(pod("p", 1)).phase, "Running");
  plugin.reset();
  ASSERT_TRUE(kubelet.restart());
  plugin = connect({.devices = devices({"a"})});

  const auto replayed = kubelet.restart_container("default/p", "c");
  ASSERT_TRUE(replayed) << replayed.error().what;
  EXPECT_EQ(replayed->at(kGpu).answer, expected_answer({"a"}));
  EXPECT_EQ(kubelet.admit(pod("p", 1)).containers.at("c"), *replayed);
  EXPECT_TRUE(plugin->calls().allocate.empty());
  EXPECT_FALSE(kubelet.restart_container("default/p", "other"));
  EXPECT_FALSE(kubelet.restart_container("default/other", "c"));
}

TEST_F(AdmissionTest, PreStartIsCalledAtEveryStart) {
  const auto plugin = connect({.devices = devices({"a"}), .pre_start_required = true});
  ASSERT_EQ(kubelet.admit(pod("p", 1)).phase, "Running");
  ASSERT_TRUE(kubelet.restart_container("default/p", "c"));
  EXPECT_EQ(plugin->calls().pre_start, (std::vector<lab::Ids>{{"a"}, {"a"}}));
  EXPECT_EQ(plugin->calls().allocate.size(), 1U);
}

TEST_F(AdmissionTest, AFailingPreStartKeepsThePodPending) {
  const auto plugin = connect(
      {.devices = devices({"a"}), .pre_start_required = true, .pre_start_error = "not yet"});
  const lab::PodStatus status = kubelet.admit(pod("p", 1));
  EXPECT_EQ(status.phase, "Pending");
  EXPECT_EQ(status.message,
            "device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = "
            "not yet");
  EXPECT_EQ(kubelet.status().at(kGpu).allocated, 1);
}

TEST_F(AdmissionTest, RawCallsPassAnyIdsAndLeaveNoTrace) {
  const auto plugin = connect({.devices = devices({"a"}), .preferred = lab::Ids{"z"}});
  const auto answer = kubelet.allocate_raw(kGpu, {"unknown", "unknown"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, expected_answer({"unknown", "unknown"}));
  EXPECT_TRUE(kubelet.allocate_raw(kGpu, {}));
  const auto preferred = kubelet.preferred_raw(kGpu, {"a"}, {"a"}, 1);
  ASSERT_TRUE(preferred);
  EXPECT_EQ(*preferred, lab::Ids{"z"});
  EXPECT_EQ(kubelet.status().at(kGpu).allocated, 0);
  EXPECT_FALSE(kubelet.allocate_raw("example.com/other", {"a"}));
}

TEST_F(AdmissionTest, StoppingEndsACallThatHangs) {
  const auto plugin = connect({.devices = devices({"a"})});
  plugin->hang_allocate();
  lab::PodStatus status;
  std::jthread admitting([&] { status = kubelet.admit(pod("p", 1)); });
  ASSERT_TRUE(plugin->wait_until_hanging());
  kubelet.stop();
  admitting.join();
  EXPECT_EQ(status.phase, "Failed");
  EXPECT_NE(status.message.find("rpc error: code = Canceled"), std::string::npos) << status.message;
}

}  // namespace
}  // namespace tranche::test::kubelet_admission_test
