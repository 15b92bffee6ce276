#include "agent/limits/finding_notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::finding_notices_test {
namespace {

using limit::Finding;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kUid = "0f8fad5b-d9cb-469f-a165-70867728950e";
const std::string kContainer(64, 'c');

cluster::Pod pod() {
  cluster::Pod pod;
  pod.ns = "shop";
  pod.name = "train";
  pod.uid = kUid;
  pod.container_ids = {{kContainer, "main"}};
  return pod;
}

Finding finding(pid_t pid = 4711, const std::string& device = "GPU-0a") {
  return {.kind = Finding::Kind::kUnregistered,
          .tenant = "t1",
          .pid = pid,
          .start_time = 99,
          .name = "occupy",
          .cgroup = "/kubepods/pod" + kUid + "/" + kContainer,
          .device = device,
          .since = std::chrono::system_clock::time_point(std::chrono::seconds(1'767'225'600))};
}

limit::ArbiterStatus status(std::vector<Finding> findings) {
  limit::ArbiterStatus status;
  status.tenants.push_back({.id = "t1", .resource = "nvidia.com/gpu.shared"});
  status.findings = std::move(findings);
  return status;
}

FindingNotices describe(std::vector<Finding> findings, const EvictPolicy& policy = {}) {
  return describe_findings(status(std::move(findings)), {pod()}, policy, "n1");
}

const cluster::StandingEvent& standing_event_of(const FindingNotices& notices,
                                                const std::string& kind) {
  const auto found = std::ranges::find_if(notices.standing, [&](const auto& entry) {
    return entry.second.event.regarding.kind == kind;
  });
  if (found == notices.standing.end()) throw std::runtime_error("no standing_event of a " + kind);
  return found->second;
}

TEST(FindingNotices, APodsProcessIsToldOfThePodAndOfTheNode) {
  const auto notices = describe({finding()});
  ASSERT_THAT(notices.standing, SizeIs(2));
  const auto& event = standing_event_of(notices, "Pod").event;
  EXPECT_EQ(event.regarding.ns, "shop");
  EXPECT_EQ(event.regarding.name, "train");
  EXPECT_EQ(event.regarding.uid, kUid);
  EXPECT_EQ(event.reason, "UnregisteredProcess");
  EXPECT_TRUE(event.warning);
  EXPECT_EQ(event.time, finding().since);
  EXPECT_THAT(event.note, HasSubstr("container main: process occupy (pid 4711) uses GPU-0a"));
  EXPECT_THAT(event.note, HasSubstr("linked dynamically with glibc"));
  EXPECT_THAT(event.note, Not(HasSubstr("evict")));
  const auto& node = standing_event_of(notices, "Node").event;
  EXPECT_EQ(node.regarding.name, "n1");
  EXPECT_EQ(node.regarding.uid, "n1");
  EXPECT_THAT(node.note, HasSubstr("Pod shop/train: container main: process occupy"));
  EXPECT_THAT(notices.evictions, IsEmpty());
}

TEST(FindingNotices, ProcessesOfOneContainerAreOneMatter) {
  auto later = finding(4800);
  later.since += std::chrono::seconds(5);
  later.name = "other";
  const auto notices = describe({later, finding()});
  ASSERT_THAT(notices.standing, SizeIs(2));
  EXPECT_THAT(standing_event_of(notices, "Pod").instances, SizeIs(2));
  EXPECT_THAT(standing_event_of(notices, "Pod").event.note, HasSubstr("occupy (pid 4711)"));
  EXPECT_THAT(describe({finding(), finding(4711, "GPU-0b")}).standing, SizeIs(4));
}

TEST(FindingNotices, AnUnknownPodIsToldOfTheNodeAlone) {
  auto stranger = finding();
  stranger.cgroup = "/kubepods/podx/\x1b[31m";
  const auto notices = describe({stranger}, {{"nvidia.com/gpu.shared"}, {"GPU-0a"}});
  ASSERT_THAT(notices.standing, SizeIs(1));
  EXPECT_THAT(standing_event_of(notices, "Node").event.note,
              HasSubstr("control group /kubepods/podx/?[31m: process occupy"));
  EXPECT_THAT(notices.evictions, IsEmpty());
}

TEST(FindingNotices, APodThatIsGoneIsNotToldOfAnyMore) {
  auto gone = finding();
  gone.cgroup = "/kubepods/podffffffff-d9cb-469f-a165-70867728950e/" + kContainer;
  EXPECT_THAT(describe({gone}).standing, IsEmpty());
  const auto blind = describe_findings(status({gone}), {}, {}, "n1");
  EXPECT_THAT(blind.standing, SizeIs(1)) << "no Pods can be read";
}

TEST(FindingNotices, EvictedByThePolicyOfItsResourceOrOfTheDevice) {
  const EvictPolicy policy{{"nvidia.com/gpu.shared"}, {"GPU-0a"}};
  const auto notices = describe({finding(), finding(4712)}, policy);
  ASSERT_THAT(notices.evictions, SizeIs(1)) << "one a Pod";
  EXPECT_EQ(
      notices.evictions[0],
      (cluster::EvictionRequest{
          .ns = "shop", .name = "train", .uid = kUid, .container = "main", .device = "GPU-0a"}));
  EXPECT_THAT(standing_event_of(notices, "Pod").event.note, HasSubstr("is to be evicted"));

  auto foreign = finding();
  foreign.kind = Finding::Kind::kNoGrant;
  foreign.tenant.clear();
  const auto granted = describe({foreign}, policy);
  ASSERT_THAT(granted.evictions, SizeIs(1));
  EXPECT_EQ(granted.evictions[0].reason, cluster::EvictionRequest::Reason::kNoGrant);
  EXPECT_EQ(standing_event_of(granted, "Pod").event.reason, "DeviceNotGranted");
  EXPECT_THAT(standing_event_of(granted, "Pod").event.note, HasSubstr("NVIDIA_VISIBLE_DEVICES"));
  EXPECT_THAT(notices.ungranted, IsEmpty()) << "an unregistered process has a grant";
  EXPECT_THAT(granted.ungranted,
              testing::ElementsAre(holdings::Holding{.device = "GPU-0a",
                                                     .wire = holdings::Wire::kNone,
                                                     .ns = "shop",
                                                     .pod = "train",
                                                     .pod_uid = kUid,
                                                     .container = "main",
                                                     .use = holdings::Use::kShared,
                                                     .state = holdings::State::kInUse}));
  EXPECT_THAT(describe_findings(status({foreign}), {}, {}, "n1").ungranted,
              testing::ElementsAre(testing::Field(&holdings::Holding::pod_uid, kUid)))
      << "where Pods cannot be read";

  EXPECT_THAT(describe({finding()}, {{"nvidia.com/other"}, {"GPU-0a"}}).evictions, IsEmpty());
  foreign.device = "GPU-0b";
  EXPECT_THAT(describe({foreign}, policy).evictions, IsEmpty());
}

TEST(FindingNotices, WhoTellsLessThanItUsesIsChargedAndNotEvicted) {
  auto liar = finding();
  liar.kind = Finding::Kind::kUnderReported;
  const auto notices = describe({liar}, {{"nvidia.com/gpu.shared"}, {"GPU-0a"}});
  EXPECT_THAT(notices.evictions, IsEmpty());
  EXPECT_EQ(standing_event_of(notices, "Pod").event.reason, "UnderReportedUse");
  EXPECT_THAT(standing_event_of(notices, "Pod").event.note,
              HasSubstr("more than it tells the limiter"));
}

TEST(FindingNotices, WhoForgesItsChargeIsReportedAndNotEvicted) {
  auto forger = finding();
  forger.kind = Finding::Kind::kForgedCharge;
  const auto notices = describe({forger}, {{"nvidia.com/gpu.shared"}, {"GPU-0a"}});
  EXPECT_THAT(notices.evictions, IsEmpty());
  EXPECT_EQ(standing_event_of(notices, "Pod").event.reason, "ForgedMemoryCharge");
}

TEST(FindingNotices, WhoHandsOverAForeignFileIsReportedAndNotEvicted) {
  auto liar = finding();
  liar.kind = Finding::Kind::kForeignUsageFile;
  liar.device.clear();
  const auto notices = describe({liar}, {{"nvidia.com/gpu.shared"}, {"GPU-0a"}});
  EXPECT_THAT(notices.evictions, IsEmpty());
  EXPECT_EQ(standing_event_of(notices, "Pod").event.reason, "ForeignUsageFile");
}

TEST(FindingNotices, PolicyIsReadFromTheOffer) {
  offer::Offer offer;
  offer.resources.resize(3);
  offer.resources[0].name.value = "nvidia.com/gpu";
  offer.resources[1].name.value = "nvidia.com/gpu.shared";
  offer.resources[1].devices.push_back({.uuid = "GPU-0a"});
  offer.resources[1].limits.emplace();
  offer.resources[1].limits->rules.unregistered = config::Unregistered::kEvict;
  offer.resources[2].name.value = "nvidia.com/gpu.other";
  offer.resources[2].limits.emplace();
  EXPECT_EQ(evict_policy(offer), (EvictPolicy{{"nvidia.com/gpu.shared"}, {"GPU-0a"}}));
  EXPECT_TRUE(evict_policy(offer::Offer()).empty());
}

TEST(FindingNotices, AnImagesPreloadFileNamesPodContainerAndLibraryAndEvictsNobody) {
  auto covered = finding();
  covered.kind = Finding::Kind::kImagePreload;
  covered.name.clear();
  covered.device.clear();
  covered.preload = "/opt/lib/libfoo.so libbar.so\x1b[2J";
  const EvictPolicy policy{{"nvidia.com/gpu.shared"}, {"GPU-0a"}};
  const auto notices = describe({covered}, policy);
  const auto& event = standing_event_of(notices, "Pod").event;
  EXPECT_EQ(event.reason, "ImagePreloadCovered");
  EXPECT_THAT(event.note,
              HasSubstr("container main: /opt/lib/libfoo.so libbar.so?[2J is not preloaded"));
  EXPECT_THAT(event.note, HasSubstr("/etc/ld.so.preload"));
  EXPECT_THAT(event.note, HasSubstr("LD_PRELOAD"));
  EXPECT_THAT(standing_event_of(notices, "Node").event.note,
              HasSubstr("Pod shop/train: container main"));
  EXPECT_THAT(notices.evictions, IsEmpty());
  covered.preload = std::string(512, 'x');
  EXPECT_LT(standing_event_of(describe({covered}), "Node").event.note.size(), 1024U)
      << "an Event's most";
}

TEST(FindingNotices, AChangedKernelLimitIsCountedEachTime) {
  auto changed = finding(0);
  changed.kind = Finding::Kind::kKernelLimitChanged;
  changed.name.clear();
  changed.cgroup = "/sys/fs/cgroup" + changed.cgroup;
  const auto notices = describe({changed});
  EXPECT_EQ(standing_event_of(notices, "Pod").event.reason, "KernelLimitChanged");
  EXPECT_THAT(standing_event_of(notices, "Pod").event.note,
              HasSubstr("container main: the kernel's limit of its memory of GPU-0a was changed"));
  EXPECT_THAT(notices.evictions, IsEmpty());
  auto later = changed;
  later.since += std::chrono::seconds(7);
  EXPECT_NE(standing_event_of(describe({later}), "Pod").instances,
            standing_event_of(notices, "Pod").instances);
}

}  // namespace
}  // namespace tranche::agent::finding_notices_test
