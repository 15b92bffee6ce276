#include "agent/limits/limit_overrides.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file_identity.h"
#include "offer/grant_maker.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/fake_pod_resources.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::agent::limit_overrides_test {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;
using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

// A GPU of 1000 MiB in four. Container main of Pod shop/p holds the first, which another Pod had
// just before, so that one's grant is still kept.
class SettingFollowerTest : public testing::Test {
 protected:
  SettingFollowerTest() {
    EXPECT_TRUE(FsRoot().write_atomic(dir_.path() / "library.so", "library"));
    grants_ = GrantStore::open(dir_.path() / "s/grants", clock_, log_.log()).value();
    manager_.emplace(TenantManager::Options{.library = dir_.path() / "library.so",
                                            .state_dir = dir_.path() / "s"},
                     *grants_, clock_, log_.log());
    offer::ResourceOffer resource;
    resource.name = resource.base = {"nvidia.com/gpu"};
    resource.devices = {{.uuid = "GPU-a", .memory = Bytes::from_mib(1000)}};
    for (int i = 0; i < 4; ++i) resource.tranches.push_back({offer::replica_id("GPU-a", i), 0});
    resource.limits = offer::OfferLimits{{.enforcement = Enforcement::kStrict}, {4}};
    const std::vector<std::string> ids = {"GPU-a::0"};
    const auto mounts = manager_->prepare().value();
    for (const auto* const tenant : {"before", "t1"}) {
      const auto grant = offer::make_grant(resource, {.limits = mounts}, ids, tenant).value();
      EXPECT_TRUE(manager_->store(grant));
      EXPECT_TRUE(book_.reserve(grant));
      book_.commit(grant);
    }
    resource_ = resource;
    manager_->follow({.resources = {resource}});
    held_ = {{"shop", "p", "main", "nvidia.com/gpu", ids}};
    kubelet_.hold(held_);

    uid_ = objects_
               .put(cluster::kPod,
                    R"({"metadata":{"name":"p","namespace":"shop"},"spec":{"nodeName":"n1"}})")
               .uid;
    order("");
    node_.emplace(objects_, "n1", notifier_, log_.log(), kQuick);
    EXPECT_TRUE(test::eventually([&] { return node_->synced(); }));
    pods_.emplace(objects_, "n1", log_.log(), kQuick);
    follower_.emplace(objects_, *node_, *pods_, book_, clock_, log_.log());
  }

  LimitSetting setting(std::string memory) const {
    return {.ns = "shop",
            .pod = "p",
            .uid = uid_,
            .container = "main",
            .resource = "nvidia.com/gpu",
            .memory = std::move(memory),
            .compute = {},
            .priority = {}};
  }
  // Writes the order as the operator does; keeps the answer in the Node.
  void order(const std::string& text) {
    auto node =
        json::parse(objects_.text(cluster::kNode, {.ns = "", .name = "n1"}), nullptr, false);
    if (!node.is_object()) node = {{"metadata", {{"name", "n1"}}}};
    if (text.empty()) {
      if (node["metadata"].contains("annotations")) {
        node["metadata"]["annotations"].erase(cluster::kLimitSettingsAnnotation);
      }
    } else {
      node["metadata"]["annotations"][cluster::kLimitSettingsAnnotation] = text;
    }
    objects_.put(cluster::kNode, node.dump());
  }
  void map_classes() {
    auto& rules = resource_.limits->rules;
    rules.policy = config::SharePolicy::kPriority;
    rules.priority_classes = {{"serving", Priority::kLatencyCritical}};
    manager_->follow({.resources = {resource_}});
  }
  Priority priority() const {
    return limit::decode(FsRoot().read(dir_.path() / "s/tenants/t1.json").value()).value().priority;
  }
  void put_pod(const char* priority_class, const char* annotations = "{}") {
    const json pod = {
        {"metadata",
         {{"name", "p"}, {"namespace", "shop"}, {"annotations", json::parse(annotations)}}},
        {"spec", {{"nodeName", "n1"}, {"priorityClassName", priority_class}}}};
    ASSERT_EQ(objects_.put(cluster::kPod, pod.dump()).uid, uid_);
  }
  bool becomes(Priority wanted) {
    return look_until([&] {
      clock_.advance(LimitOverrides::kAskAgain);
      return priority() == wanted;
    });
  }
  void annotate(const std::string& memory) {
    const json pod = {
        {"metadata",
         {{"name", "p"}, {"namespace", "shop"}, {"annotations", {{kMemoryAnnotation, memory}}}}},
        {"spec", {{"nodeName", "n1"}}}};
    ASSERT_EQ(objects_.put(cluster::kPod, pod.dump()).uid, uid_);
  }
  std::optional<LimitOutcome> answered(std::size_t which = 0) {
    const auto node = node_->node();
    if (!node || !node->annotations.contains(cluster::kLimitStatusAnnotation)) return std::nullopt;
    const auto all =
        cluster::decode_limit_outcomes(node->annotations.at(cluster::kLimitStatusAnnotation));
    return all.value().at(which);
  }
  bool look_until(const std::function<bool()>& done) {
    return test::eventually([&] {
      follower_->look(holders_, *manager_, {});
      return done();
    });
  }
  bool is(LimitOutcome::State state, const std::string& memory) {
    return look_until([&] {
      const auto answer = answered();
      return answer && answer->state == state && answer->setting.memory == memory;
    });
  }
  std::filesystem::path tenant_file() const { return dir_.path() / "s/tenants/t1.json"; }
  std::uint64_t mib() const {
    const auto text = FsRoot().read(tenant_file());
    return limit::decode(text.value()).value().devices.at(0).memory.value_or(Bytes{}).mib();
  }
  std::vector<std::string> events() {
    std::vector<std::string> notes;
    const auto list = objects_.list(cluster::kEvent, {.ns = "shop"});
    for (const auto& item : list->items) notes.push_back(json::parse(item.json)["note"]);
    return notes;
  }

  static constexpr Backoff kQuick{milliseconds(1), milliseconds(4)};
  test::TempDir dir_;
  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  process::ChangeNotifier notifier_;
  test::FakePodResources kubelet_;
  HolderAnswers holders_{kubelet_, clock_};
  Book book_{clock_};
  std::vector<cluster::HeldDevices> held_;  // by Pod shop/p
  std::string uid_;
  offer::ResourceOffer resource_;
  std::unique_ptr<GrantStore> grants_;
  std::optional<TenantManager> manager_;
  std::optional<NodeView> node_;
  std::optional<PodsOfNode> pods_;
  std::optional<LimitOverrides> follower_;
};

TEST_F(SettingFollowerTest, NothingSetNobodyIsAsked) {
  follower_->look(holders_, *manager_, {});
  EXPECT_EQ(kubelet_.asked(), 0);
  EXPECT_EQ(mib(), 250U);
  EXPECT_FALSE(answered());
}

TEST_F(SettingFollowerTest, ASettingHoldsAndIsAnswered) {
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  EXPECT_EQ(mib(), 100U);
  EXPECT_EQ(answered()->devices.at(0).memory_bytes, 100ULL << 20U);
  EXPECT_EQ(answered()->devices.at(0).permille, 250U);
  order("");
  ASSERT_TRUE(look_until([&] { return !answered().has_value(); }));
  EXPECT_EQ(mib(), 250U);
}

TEST_F(SettingFollowerTest, ARefusalIsAnsweredAndToldOnce) {
  order(cluster::encode(std::vector{setting("600Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kRefused, "600Mi"));
  EXPECT_THAT(answered()->message, HasSubstr("600 MiB cannot be kept"));
  EXPECT_EQ(mib(), 250U);
  follower_->look(holders_, *manager_, {});
  ASSERT_EQ(events().size(), 1U);
  EXPECT_THAT(events()[0], HasSubstr("container main, nvidia.com/gpu: memory: 600 MiB"));
  order(cluster::encode(std::vector{setting("lots")}));
  ASSERT_TRUE(is(LimitOutcome::State::kRefused, "lots"));
  EXPECT_EQ(events().size(), 2U);
}

// As `tranche limit set` orders: the setting that holds comes after the new one until that is
// answered.
TEST_F(SettingFollowerTest, WhatIsRefusedLeavesWhatHoldsUntouched) {
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  const auto written = identify(tenant_file());
  for (const auto* const refused : {"600Mi", "lots"}) {
    order(cluster::encode(std::vector{setting(refused), setting("100Mi")}));
    ASSERT_TRUE(is(LimitOutcome::State::kRefused, refused));
    EXPECT_EQ(identify(tenant_file()), written) << "limits/v1 is not written in between";
    order(cluster::encode(std::vector{setting("100Mi")}));
    ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
    EXPECT_EQ(identify(tenant_file()), written);
  }
  order(cluster::encode(std::vector{setting("200Mi"), setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "200Mi"));
  EXPECT_EQ(mib(), 200U);
  EXPECT_EQ(answered(1)->state, LimitOutcome::State::kWaiting);
  EXPECT_EQ(answered(1)->message, "a newer setting of the container holds");
  EXPECT_NE(identify(tenant_file()), written) << "a write is seen";
}

TEST_F(SettingFollowerTest, WhatIsRefusedLeavesThePodsAnnotationInForce) {
  annotate("100Mi");
  ASSERT_TRUE(look_until([&] {
    clock_.advance(LimitOverrides::kAskAgain);
    return mib() == 100;
  }));
  const auto written = identify(tenant_file());
  order(cluster::encode(std::vector{setting("600Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kRefused, "600Mi"));
  EXPECT_EQ(identify(tenant_file()), written);
}

// The command may be killed before it removes a refused setting.
TEST_F(SettingFollowerTest, TheNextAgentLeavesWhatHoldsBehindARefusal) {
  order(cluster::encode(std::vector{setting("600Mi"), setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kRefused, "600Mi"));
  const auto written = identify(tenant_file());
  manager_.emplace(
      TenantManager::Options{.library = dir_.path() / "library.so", .state_dir = dir_.path() / "s"},
      *grants_, clock_, log_.log());
  manager_->follow({.resources = {resource_}});
  follower_.emplace(objects_, *node_, *pods_, book_, clock_, log_.log());
  ASSERT_TRUE(look_until([&] { return kubelet_.asked() > 1; }));
  EXPECT_EQ(identify(tenant_file()), written);
  EXPECT_EQ(mib(), 100U);
}

TEST_F(SettingFollowerTest, APodsAnnotationLowersUntilTheOperatorSetsSomething) {
  annotate("100Mi");
  ASSERT_TRUE(look_until([&] {
    clock_.advance(LimitOverrides::kAskAgain);
    return mib() == 100;
  }));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  EXPECT_EQ(answered()->by, LimitOutcome::By::kAnnotations);
  EXPECT_EQ(answered()->devices.at(0).memory_bytes, 100ULL << 20U);
  EXPECT_TRUE(events().empty());
  order(cluster::encode(std::vector{setting("200Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "200Mi"));
  EXPECT_EQ(mib(), 200U);
  EXPECT_EQ(answered()->by, LimitOutcome::By::kOperator);
  order("");
  ASSERT_TRUE(look_until([&] { return mib() == 100; }));
}

TEST_F(SettingFollowerTest, APodsAnnotationThatRaisesOrIsWrongIsTold) {
  for (const auto& [value, why] :
       {std::pair{"300Mi", "300 MiB is more than the 250 MiB of the configuration"},
        std::pair{"lots", "'lots' is no amount of memory"}}) {
    annotate(value);
    ASSERT_TRUE(look_until([&] {
      clock_.advance(LimitOverrides::kAskAgain);
      return std::ranges::any_of(events(), [&](const auto& note) { return note.contains(why); });
    })) << value;
    EXPECT_EQ(mib(), 250U);
  }
  EXPECT_EQ(events().size(), 2U);
}

// A value that no answer may have would make it unreadable, the operator's settings with it.
TEST_F(SettingFollowerTest, WhatAPodsOwnerWritesLeavesTheAnswerReadable) {
  order(cluster::encode(std::vector{setting("200Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "200Mi"));
  order("");
  annotate("a lot " + std::string(100, 'x'));
  ASSERT_TRUE(look_until([&] {
    clock_.advance(LimitOverrides::kAskAgain);
    const auto answer = answered();
    return answer && answer->by == LimitOutcome::By::kAnnotations;
  }));
  EXPECT_EQ(answered()->state, LimitOutcome::State::kRefused);
  EXPECT_EQ(answered()->setting.memory, "");
}

TEST_F(SettingFollowerTest, ClassesGoByThePodsPriorityClass) {
  put_pod("serving");
  follower_->look(holders_, *manager_, {});
  EXPECT_EQ(kubelet_.asked(), 0) << "no configuration asks for it";
  map_classes();
  EXPECT_TRUE(becomes(Priority::kLatencyCritical));
  put_pod("serving", R"({"tranche.dev/class":"best-effort"})");
  EXPECT_TRUE(becomes(Priority::kBestEffort)) << "its owner may lower it";
  put_pod("serving");
  EXPECT_TRUE(becomes(Priority::kLatencyCritical));
  put_pod("other");
  EXPECT_TRUE(becomes(Priority::kNormal));
}

TEST_F(SettingFollowerTest, TheNextAgentKeepsAClassUntilItKnowsThePods) {
  map_classes();
  put_pod("serving");
  ASSERT_TRUE(becomes(Priority::kLatencyCritical));
  manager_.emplace(
      TenantManager::Options{.library = dir_.path() / "library.so", .state_dir = dir_.path() / "s"},
      *grants_, clock_, log_.log());
  manager_->follow({.resources = {resource_}});
  EXPECT_EQ(priority(), Priority::kLatencyCritical);
  kubelet_.hold({});
  EXPECT_TRUE(becomes(Priority::kNormal));
}

// A share of 400 MiB and 40 %, lowered to 300 MiB by its claim's configuration, in container `gpu`
// of Pod shop/c.
class ClaimSettingTest : public SettingFollowerTest {
 protected:
  ClaimSettingTest() {
    claim_ = {
        .id = "share",
        .driver = "gpu.nvidia.com",
        .limits = {.enforcement = Enforcement::kStrict,
                   .devices = {{.uuid = "GPU-b",
                                .memory = Bytes::from_mib(300),
                                .weight = 400,
                                .permille = 400}}},
        .most = {{.uuid = "GPU-b", .memory = Bytes::from_mib(400), .weight = 400, .permille = 400}},
        .devices = {{.uuid = "GPU-b", .memory = Bytes::from_mib(1000)}}};
    EXPECT_TRUE(manager_->add_claim(claim_.id, claim_.driver, claim_.limits));
    manager_->know_claims([this]() -> Result<std::vector<ClaimTenant>> {
      if (unknown_) return fail(Code::kUnavailable, "not yet");
      return std::vector{claim_};
    });
    prepare("c-half-x", "gpu", claim_.limits);
    uid_ = put("{}");
  }
  // Enters the claim in the book; `limits`: nullopt for a whole GPU.
  void prepare(const std::string& claim, const std::string& request,
               const std::optional<GrantLimits>& limits,
               const std::vector<std::string>& more_shares = {}) {
    dra::PreparedClaim prepared{.ns = "shop", .name = claim, .uid = claim, .boot = "b"};
    prepared.devices = {{.request = request,
                         .pool = "p",
                         .device = "gpu-0",
                         .share_id = limits ? "share" : "",
                         .uuid = "GPU-b",
                         .limits = limits}};
    for (const auto& share : more_shares) {
      prepared.devices.push_back(prepared.devices[0]);
      prepared.devices.back().share_id = share;
    }
    book_.restore({{claim, prepared}}, {});
  }
  std::string put(const std::string& annotations, const char* status = R"("containerStatuses":
      [{"name":"gpu","containerID":"containerd://1"}],)") {
    const auto text = fmt::format(
        R"({{"metadata":{{"name":"c","namespace":"shop","annotations":{}}},
            "spec":{{"nodeName":"n1","resourceClaims":[{{"name":"half","resourceClaimTemplateName":"t"}}],
              "containers":[{{"name":"gpu","resources":{{"claims":[{{"name":"half"}}]}}}}]}},
            "status":{{{} "resourceClaimStatuses":[{{"name":"half","resourceClaimName":"c-half-x"}}]}}}})",
        annotations, status);
    return objects_.put(cluster::kPod, text).uid;
  }
  LimitSetting setting(std::string memory, std::string compute = "") const {
    return {.ns = "shop",
            .pod = "c",
            .uid = uid_,
            .container = "gpu",
            .resource = "claim/half",
            .memory = std::move(memory),
            .compute = std::move(compute)};
  }
  DeviceLimits part() const {
    const auto text = FsRoot().read(dir_.path() / "s/tenants/share.json");
    return limit::decode(text.value()).value().devices.at(0);
  }
  std::uint64_t mib() const { return part().memory.value_or(Bytes{}).mib(); }
  bool becomes_mib(std::uint64_t wanted) {
    return look_until([&] {
      clock_.advance(LimitOverrides::kAskAgain);
      return mib() == wanted;
    });
  }

  ClaimTenant claim_;
  bool unknown_ = false;
};

TEST_F(ClaimSettingTest, IsLoweredAndSetBack) {
  order(cluster::encode(std::vector{setting("100Mi", "10%")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  EXPECT_EQ(mib(), 100U);
  EXPECT_EQ(part().permille, 100U);
  EXPECT_EQ(answered()->devices.at(0).uuid, "GPU-b");
  order("");
  ASSERT_TRUE(becomes_mib(300));
  EXPECT_EQ(part().permille, 400U);
}

TEST_F(ClaimSettingTest, IsRaisedUpToWhatTheClaimConsumedAndNoFurther) {
  order(cluster::encode(std::vector{setting("400Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "400Mi"));
  EXPECT_EQ(mib(), 400U) << "the configuration's 300 MiB are its owner's wish";
  order(cluster::encode(std::vector{setting("401Mi"), setting("400Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kRefused, "401Mi"));
  EXPECT_THAT(answered()->message, HasSubstr("401 MiB is more than the 400 MiB of the claim"));
  EXPECT_EQ(mib(), 400U);
  order(cluster::encode(std::vector{setting("", "41%")}));
  ASSERT_TRUE(is(LimitOutcome::State::kRefused, ""));
  EXPECT_THAT(answered()->message, HasSubstr("41% is more than the 40% of the claim"));
}

TEST_F(ClaimSettingTest, AnAnnotationLowersAndNeverRaises) {
  put(R"({"tranche.dev/memory":"200Mi"})");
  ASSERT_TRUE(becomes_mib(200));
  put(R"({"tranche.dev/memory":"350Mi"})");
  ASSERT_TRUE(becomes_mib(300)) << "what the claim's configuration says is its owner's, too";
  EXPECT_THAT(events(),
              testing::Contains(HasSubstr(
                  "container gpu, claim/half: memory: 350 MiB is more than the 300 MiB")));
}

// A whole GPU through an extended resource of the DeviceClass: the scheduler made the claim.
TEST_F(ClaimSettingTest, WithoutTheLimiterNothingIsSetAndTheReasonIsTold) {
  prepare("c-extended-x", "container-0-request-0", std::nullopt);
  const auto text = [](const std::string& annotations) {
    return fmt::format(
        R"({{"metadata":{{"name":"c","namespace":"shop","annotations":{}}},
            "spec":{{"nodeName":"n1","containers":[{{"name":"gpu"}}]}},
            "status":{{"containerStatuses":[{{"name":"gpu","containerID":"containerd://1"}}],
              "extendedResourceClaimStatus":{{"resourceClaimName":"c-extended-x",
                "requestMappings":[{{"containerName":"gpu","resourceName":"nvidia.com/gpu",
                                     "requestName":"container-0-request-0"}}]}}}}}})",
        annotations);
  };
  uid_ = objects_.put(cluster::kPod, text("{}")).uid;
  auto wanted = setting("100Mi");
  wanted.resource = "nvidia.com/gpu";
  order(cluster::encode(std::vector{wanted}));
  ASSERT_TRUE(is(LimitOutcome::State::kRefused, "100Mi"));
  EXPECT_THAT(answered()->message, HasSubstr("started without the limiter"));
  objects_.put(cluster::kPod, text(R"({"tranche.dev/memory":"200Mi"})"));
  ASSERT_TRUE(look_until([&] {
    clock_.advance(LimitOverrides::kAskAgain);
    return std::ranges::any_of(events(), [](const std::string& note) {
      return note.starts_with("container gpu, nvidia.com/gpu: the claim's device is not limited");
    });
  }));
  EXPECT_EQ(mib(), 300U);
}

// Anybody can name any claim in a Pod; kubelet starts only the Pod that it is reserved for.
TEST_F(ClaimSettingTest, APodThatNeverStartedHasNoSay) {
  put(R"({"tranche.dev/memory":"200Mi"})", "");
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kWaiting, "100Mi"));
  EXPECT_EQ(mib(), 300U);
}

// An agent follows settings before it has restored its claims.
TEST_F(ClaimSettingTest, WhatIsSetStaysWhileNobodyKnowsTheClaims) {
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  const auto written = identify(dir_.path() / "s/tenants/share.json");
  unknown_ = true;
  clock_.advance(LimitOverrides::kAskAgain);
  ASSERT_TRUE(is(LimitOutcome::State::kWaiting, "100Mi"));
  unknown_ = false;
  manager_->follow({.resources = {resource_}});
  EXPECT_EQ(mib(), 100U) << "nobody has said yet what is set of claims";
  clock_.advance(LimitOverrides::kAskAgain);
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  EXPECT_EQ(identify(dir_.path() / "s/tenants/share.json"), written) << "it was never another one";
}

TEST_F(ClaimSettingTest, OfSeveralDevicesAllAreSetOrNone) {
  auto small = claim_;
  small.id = "small";
  small.limits.devices[0].memory = small.most[0].memory = Bytes::from_mib(150);
  ASSERT_TRUE(manager_->add_claim(small.id, small.driver, small.limits));
  manager_->know_claims(
      [&]() -> Result<std::vector<ClaimTenant>> { return std::vector{claim_, small}; });
  prepare("c-half-x", "gpu", claim_.limits, {small.id});
  order(cluster::encode(std::vector{setting("200Mi"), setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kRefused, "200Mi"));
  EXPECT_EQ(answered(1)->state, LimitOutcome::State::kHolds);
  EXPECT_EQ(answered(1)->devices.size(), 2U);
  EXPECT_EQ(mib(), 100U) << "200 MiB would be none too many for this one alone";
}

TEST_F(ClaimSettingTest, AClaimThatHasEndedGetsNoFiles) {
  ASSERT_TRUE(manager_->remove_claim("share"));
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kWaiting, "100Mi"));
  EXPECT_FALSE(FsRoot().read(dir_.path() / "s/tenants/share.json"));
}

TEST_F(SettingFollowerTest, AnotherPodOfTheNameIsNotMeant) {
  auto other = setting("100Mi");
  other.uid = "00000000-0000-0000-0000-00000000dead";
  order(cluster::encode(std::vector{other}));
  ASSERT_TRUE(is(LimitOutcome::State::kWaiting, "100Mi"));
  EXPECT_EQ(mib(), 250U);
}

TEST_F(SettingFollowerTest, AContainerThatComesLaterGetsItsSetting) {
  kubelet_.hold({});
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kWaiting, "100Mi"));
  const int asked = kubelet_.asked();
  follower_->look(holders_, *manager_, {});
  EXPECT_EQ(kubelet_.asked(), asked) << "not at every look";
  kubelet_.hold(held_);
  clock_.advance(LimitOverrides::kAskAgain);
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  EXPECT_EQ(mib(), 100U);
}

TEST_F(SettingFollowerTest, KubeletThatIsAwayUndoesNothing) {
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  kubelet_.go_away(true);
  clock_.advance(LimitOverrides::kAskAgain);
  follower_->look(holders_, *manager_, {});
  EXPECT_EQ(mib(), 100U);
  EXPECT_EQ(answered()->state, LimitOutcome::State::kHolds);
}

// An agent starts while the API server answers only some calls: what holds is kept.
TEST_F(SettingFollowerTest, PodsThatCannotBeReadUndoNothing) {
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  objects_.refuse("list", cluster::kPod, {Code::kUnavailable, "overloaded", ""});
  pods_.emplace(objects_, "n1", log_.log(), kQuick);
  follower_.emplace(objects_, *node_, *pods_, book_, clock_, log_.log());
  ASSERT_TRUE(look_until([&] { return pods_->is_refused(); }));
  follower_->look(holders_, *manager_, {});
  EXPECT_EQ(mib(), 100U);
  objects_.recover();
  ASSERT_TRUE(test::eventually([&] { return pods_->all().has_value(); }));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
}

TEST_F(SettingFollowerTest, AnOrderThatCannotBeReadChangesNothing) {
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
  order("{");
  ASSERT_TRUE(
      look_until([&] { return log_.count("annotation tranche.dev/limits of Node n1") > 0; }));
  follower_->look(holders_, *manager_, {});
  EXPECT_EQ(log_.count("annotation tranche.dev/limits of Node n1"), 1);
  EXPECT_EQ(mib(), 100U);
}

TEST_F(SettingFollowerTest, AnAnswerThatIsRefusedIsLoggedOnceAndTriedAgain) {
  objects_.refuse("patch", cluster::kNode, {Code::kPermission, "forbidden", ""}, 1);
  order(cluster::encode(std::vector{setting("100Mi")}));
  ASSERT_TRUE(look_until([&] { return mib() == 100; }));
  EXPECT_EQ(log_.count("cannot be told"), 1);
  EXPECT_FALSE(answered());
  clock_.advance(std::chrono::seconds(30));
  ASSERT_TRUE(is(LimitOutcome::State::kHolds, "100Mi"));
}

}  // namespace
}  // namespace tranche::agent::limit_overrides_test
