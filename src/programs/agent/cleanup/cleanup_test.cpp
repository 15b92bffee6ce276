#include "agent/cleanup/cleanup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent/config/config_memory.h"
#include "cdi/make_specs.h"
#include "cluster/formats/reasons.h"
#include "cluster/node.h"
#include "labels/feature_file.h"
#include "offer/grant_record.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::cleanup_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

const cluster::ObjectKey kNodeKey{"", "n1"};
const cluster::ObjectKey kFeatureKey{"gpu", "nvidia-features-for-n1"};

class CleanupTest : public testing::Test {
 protected:
  CleanupTest() {
    plan_ = {.feature_file = path("features.d/gfd"),
             .cdi_root = path("cdi"),
             .state_dir = path("state"),
             .node_name = "n1",
             .ns = "gpu"};
    for (const auto* dir : {"features.d", "cdi", "state/grants"}) {
      EXPECT_TRUE(fs_.make_directories(path(dir)));
    }
  }
  std::filesystem::path path(const std::string& below) const { return dir_.path() / below; }
  void write(const std::string& below, const std::string& text = "x") {
    ASSERT_TRUE(fs_.write_atomic(path(below), text));
  }
  bool there(const std::string& below) const { return fs_.exists(path(below)); }
  json node() { return json::parse(objects_.text(cluster::kNode, kNodeKey)); }
  // Without waiting: at most `rounds` rounds.
  Result<bool> clear(int rounds = 1) {
    return clear_node(
        cleanup_steps(plan_, &objects_, clock_),
        [&](milliseconds time) {
          clock_.advance(time);
          waits_.push_back(time);
          return --rounds > 0;
        },
        deadline_, clock_, log_.log());
  }

  test::TempDir dir_;
  FsRoot fs_;
  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  CleanupPlan plan_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::vector<milliseconds> waits_;
};

TEST_F(CleanupTest, FilesOfOursGoOthersStay) {
  const labels::FeatureFile feature(fs_, plan_.feature_file);
  ASSERT_TRUE(feature.write({{"nvidia.com/gpu.count", "2"}}));
  write("features.d/other");
  const auto spec = cdi::spec_file_name("gpu");
  write("cdi/" + spec);
  write("cdi/other.json");
  ASSERT_TRUE(fs_.make_directories(path("state/incidents")));
  for (const auto* file :
       {"state/grants/grants.jsonl", "state/grants/rejected.jsonl",
        "state/grants/.grants.jsonl.a1B2c3", "state/config.json", "state/config-being-read",
        "state/layouts-being-read", "state/incidents/20260101-000000-xid.json",
        "state/agent.n1.status", "state/.agent.n1.status.a1B2c3", "state/handover.sock",
        "state/handover.sock.new", "state/agent.lock", "state/other"}) {
    write(file);
  }
  plan_.cdi = true;
  plan_.held.emplace();
  EXPECT_EQ(clear(), true);
  EXPECT_FALSE(there("features.d/gfd"));
  EXPECT_FALSE(there("features.d/.gfd.tranche"));
  EXPECT_TRUE(there("features.d/other"));
  EXPECT_FALSE(there("cdi/" + spec));
  EXPECT_TRUE(there("cdi/other.json"));
  EXPECT_FALSE(there("state/grants"));
  EXPECT_EQ(fs_.list(path("state")).value(), (std::vector<std::string>{"agent.lock", "other"}))
      << "the lock is its holder's to remove";
  EXPECT_EQ(log_.count("removed"), 3);
  EXPECT_EQ(clear(), true) << "again, when nothing is left";
  EXPECT_EQ(log_.count("removed"), 3);
}

// Kubelet replays CDI devices, too.
TEST_F(CleanupTest, TheRuntimesHookStaysWithThoseThatHaveIt) {
  offer::GrantRecord held;
  held.grant.resource = {"nvidia.com/gpu"};
  held.grant.ids = {"GPU-a::0"};
  held.grant.cdi_devices = {std::string(offer::kHookDevice)};
  write("state/grants/grants.jsonl", offer::encode(held) + "\n");
  ASSERT_TRUE(fs_.make_directories(path("state/hook")));
  write("state/hook/tranche-limit-hook");
  write("cdi/tranche.dev-limits.json");
  write("cdi/other.json");
  EXPECT_EQ(clear(), true);
  EXPECT_TRUE(there("state/hook/tranche-limit-hook"));
  EXPECT_TRUE(there("cdi/tranche.dev-limits.json"));
  plan_.held = std::vector<cluster::HeldDevices>{};
  EXPECT_EQ(clear(), true);
  EXPECT_FALSE(there("state/hook"));
  EXPECT_FALSE(there("cdi/tranche.dev-limits.json"));
  EXPECT_TRUE(there("cdi/other.json"));
}

// Kubelet replays the mounts of running containers.
TEST_F(CleanupTest, ClaimsStayWhileOneIsPrepared) {
  ASSERT_TRUE(fs_.make_directories(path("state/claims")));
  write("state/claims/lock");
  write("state/claims/0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1b.damaged");
  write("state/claims/0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a.json");
  write("state/mode", "dra");
  ASSERT_TRUE(clear());
  EXPECT_TRUE(there("state/claims/0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a.json"));
  EXPECT_TRUE(there("state/claims/lock"));
  EXPECT_FALSE(there("state/mode"));
  ASSERT_TRUE(fs_.remove(path("state/claims/0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a.json")));
  ASSERT_TRUE(clear());
  EXPECT_FALSE(there("state/claims"));
}

TEST_F(CleanupTest, WhatGrantsMountOfTheLimitsStays) {
  offer::GrantRecord held;
  held.grant.resource = {"nvidia.com/gpu"};
  held.grant.ids = {"GPU-a::0"};
  held.grant.mounts = {
      {"/usr/local/tranche/libtranche-limit.so", path("state/lib/2/libtranche-limit.so"), true},
      {"/run/tranche/t1", path("state/tenants/t1"), true}};
  write("state/grants/grants.jsonl", offer::encode(held) + "\n");
  for (const auto* dir : {"lib/1", "lib/2", "tenants/t1", "tenants/t2"}) {
    ASSERT_TRUE(fs_.make_directories(path("state") / dir));
  }
  for (const auto* file :
       {"state/lib/1/libtranche-limit.so", "state/lib/2/libtranche-limit.so",
        "state/tenants/t1/arbiter.sock", "state/tenants/t1.json", "state/tenants/t2/arbiter.sock",
        "state/tenants/t2.json", "state/tenants/t10.json"}) {
    write(file);
  }
  EXPECT_EQ(clear(), true);
  EXPECT_EQ(fs_.list(path("state/lib")).value(), (std::vector<std::string>{"2"}));
  EXPECT_EQ(fs_.list(path("state/tenants")).value(), (std::vector<std::string>{"t1", "t1.json"}));
  EXPECT_TRUE(there("state/tenants/t1/arbiter.sock"));
  EXPECT_EQ(clear(), true);
  EXPECT_TRUE(there("state/tenants/t1.json")) << "again: the grant is still known";
  plan_.held = std::vector<cluster::HeldDevices>{
      {"ns", "pod", "c", "nvidia.com/gpu", {"GPU-a::0", "GPU-a::1"}}};
  EXPECT_EQ(clear(), true);
  EXPECT_TRUE(there("state/tenants/t1.json")) << "kubelet says that it is held";
  plan_.held->at(0).ids = {"GPU-a::1"};
  EXPECT_EQ(clear(), true);
  EXPECT_FALSE(there("state/grants/grants.jsonl"));
  EXPECT_FALSE(there("state/lib"));
  EXPECT_FALSE(there("state/tenants"));
}

TEST_F(CleanupTest, WhatALivingContainerHasMountedStays) {
  for (const auto* dir : {"lib/1", "tenants/t1", "tenants/t2"}) {
    ASSERT_TRUE(fs_.make_directories(path("state") / dir));
  }
  write("state/tenants/t1.json");
  plan_.held.emplace();
  plan_.mounted = std::set<std::string>{"t1", "1"};
  EXPECT_EQ(clear(), true);
  EXPECT_EQ(fs_.list(path("state/tenants")).value(), (std::vector<std::string>{"t1", "t1.json"}));
  EXPECT_TRUE(there("state/lib/1"));
  plan_.mounted.reset();
  EXPECT_EQ(clear(), true);
  EXPECT_TRUE(there("state/tenants/t1")) << "it is not known";
  plan_.mounted.emplace();
  EXPECT_EQ(clear(), true);
  EXPECT_FALSE(there("state/tenants"));
}

TEST_F(CleanupTest, GrantsThatCannotBeReadMayMountAnything) {
  ASSERT_TRUE(fs_.make_directories(path("state/tenants/t1")));
  ASSERT_TRUE(fs_.make_directories(path("state/lib/1")));
  write("state/grants/grants.jsonl", "torn\n");
  EXPECT_EQ(clear(), true);
  EXPECT_TRUE(there("state/tenants/t1"));
  plan_.held = std::vector<cluster::HeldDevices>{{"ns", "pod", "c", "nvidia.com/gpu", {"GPU-a"}}};
  EXPECT_EQ(clear(), true);
  EXPECT_TRUE(there("state/lib/1"));
  EXPECT_TRUE(there("state/grants/grants.jsonl"));
  // A folder in its place makes it unreadable.
  ASSERT_TRUE(fs_.remove(path("state/grants/grants.jsonl")));
  ASSERT_TRUE(fs_.make_directories(path("state/grants/grants.jsonl")));
  plan_.held.emplace();
  deadline_ = clock_.now();
  EXPECT_FALSE(clear());
  EXPECT_TRUE(there("state/tenants/t1"));
  std::filesystem::remove(path("state/grants/grants.jsonl"));
  EXPECT_EQ(clear(), true);
  EXPECT_FALSE(there("state/tenants"));
}

TEST_F(CleanupTest, WhatOthersWroteStays) {
  write("features.d/gfd", "nvidia.com/gpu.count=2\n");
  write("cdi/" + cdi::spec_file_name("gpu"));
  write("state/grants/notes.txt");
  EXPECT_EQ(clear(), true);
  EXPECT_TRUE(there("features.d/gfd")) << "not marked as ours";
  EXPECT_TRUE(there("cdi/" + cdi::spec_file_name("gpu"))) << "no CDI strategy was in force";
  EXPECT_TRUE(there("state/grants/notes.txt"));
}

TEST_F(CleanupTest, MissingFoldersAreClear) {
  std::filesystem::remove_all(path("features.d"));
  std::filesystem::remove_all(path("cdi"));
  std::filesystem::remove_all(path("state"));
  plan_.cdi = true;
  EXPECT_EQ(clear(), true);
  EXPECT_FALSE(there("cdi")) << "and are not made";
  EXPECT_FALSE(there("state"));
}

TEST_F(CleanupTest, LabelsOfOursLeaveTheNode) {
  objects_.put(cluster::kNode,
               json{{"metadata", {{"name", "n1"}, {"labels", {{"a", "b"}}}}}}.dump());
  const json ours = {{"apiVersion", "v1"},
                     {"kind", "Node"},
                     {"metadata", {{"name", "n1"}, {"labels", {{"nvidia.com/gpu.count", "2"}}}}}};
  ASSERT_TRUE(objects_.apply(cluster::kNode, kNodeKey,
                             {.json = ours.dump(), .field_manager = "tranche-labels"}));
  plan_.labels = config::LabelOutput::kNode;
  EXPECT_EQ(clear(), true);
  EXPECT_EQ(node()["metadata"]["labels"], json({{"a", "b"}}));
  EXPECT_EQ(log_.count("removed label nvidia.com/gpu.count"), 1);
}

TEST_F(CleanupTest, TheConditionLeavesTheNode) {
  objects_.put(cluster::kNode, R"({"metadata": {"name": "n1"}, "status": {"conditions": [
    {"type": "Ready", "status": "True"}, {"type": "TrancheConfigured", "status": "True"}]}})");
  plan_.condition = true;
  EXPECT_EQ(clear(), true);
  ASSERT_EQ(node()["status"]["conditions"].size(), 1U);
  EXPECT_EQ(node()["status"]["conditions"][0]["type"], "Ready");
  EXPECT_EQ(clear(), true);
  EXPECT_EQ(log_.count("removed condition"), 1);
}

TEST_F(CleanupTest, EveryConditionOfOursLeavesTheNode) {
  json conditions = json::array({{{"type", "Ready"}, {"status", "True"}}});
  for (const auto& row : cluster::condition_table()) {
    if (row.object == "Node") conditions.push_back({{"type", row.type}, {"status", "False"}});
  }
  ASSERT_GT(conditions.size(), 2U);
  objects_.put(
      cluster::kNode,
      json{{"metadata", {{"name", "n1"}}}, {"status", {{"conditions", conditions}}}}.dump());
  plan_.condition = true;
  EXPECT_EQ(clear(), true);
  EXPECT_EQ(node()["status"]["conditions"], json::array({conditions[0]}));
}

TEST_F(CleanupTest, WhatTheControllerWasAskedForIsTakenBack) {
  objects_.put(cluster::kNode, R"({"metadata": {"name": "n1", "labels": {"a": "b",
    "tranche.dev/evict-requests": "open"}, "annotations": {"tranche.dev/evict-requests": "{}",
    "tranche.dev/limits-status": "{}", "tranche.dev/limits": "{}"}}})");
  plan_.condition = true;
  EXPECT_EQ(clear(), true);
  EXPECT_EQ(node()["metadata"]["labels"], json({{"a", "b"}}));
  EXPECT_EQ(node()["metadata"]["annotations"], json({{"tranche.dev/limits", "{}"}}));
  EXPECT_EQ(log_.count("removed annotation tranche.dev/evict-requests of Node n1"), 1);
}

TEST_F(CleanupTest, AChangeOfTheMigLayoutIsTakenBack) {
  // The controller removes its cordon when the label goes.
  objects_.put(cluster::kNode, R"({"metadata": {"name": "n1", "labels": {"a": "b",
    "tranche.dev/mig-change": "open", "nvidia.com/mig.config": "x"}, "annotations": {
    "tranche.dev/mig-change": "{}", "tranche.dev/mig-drain": "{}",
    "tranche.dev/mig-applied": "{}"}}})");
  plan_.condition = true;
  EXPECT_EQ(clear(), true);
  EXPECT_EQ(node()["metadata"]["labels"], json({{"a", "b"}, {"nvidia.com/mig.config", "x"}}));
  EXPECT_EQ(node()["metadata"]["annotations"], json({{"tranche.dev/mig-drain", "{}"}}));
  EXPECT_EQ(log_.count("removed annotation tranche.dev/mig-change of Node n1"), 1);
}

TEST_F(CleanupTest, TheNodeFeatureGoesUnlessItIsNvidias) {
  const auto put = [this](const std::string& manager) {
    objects_.put(cluster::kNodeFeature, json{{"metadata",
                                              {{"namespace", "gpu"},
                                               {"name", "nvidia-features-for-n1"},
                                               {"managedFields", {{{"manager", manager}}}}}}}
                                            .dump());
  };
  plan_.labels = config::LabelOutput::kNodeFeature;
  put("gpu-feature-discovery");
  EXPECT_EQ(clear(), true);
  EXPECT_FALSE(objects_.text(cluster::kNodeFeature, kFeatureKey).empty());
  put("tranche-labels");
  EXPECT_EQ(clear(), true);
  EXPECT_TRUE(objects_.text(cluster::kNodeFeature, kFeatureKey).empty());
}

TEST_F(CleanupTest, TheGpuNodeOfTheNodeGoesAndNoOther) {
  for (const auto* name : {"n1", "n2"}) {
    objects_.put(cluster::kGpuNode, json{{"metadata", {{"name", name}}}}.dump());
  }
  EXPECT_EQ(clear(), true);
  EXPECT_FALSE(objects_.text(cluster::kGpuNode, kNodeKey).empty()) << "this agent writes none";
  plan_.gpu_node = true;
  EXPECT_EQ(clear(), true);
  EXPECT_TRUE(objects_.text(cluster::kGpuNode, kNodeKey).empty());
  EXPECT_EQ(log_.count("removed GPUNode n1"), 1);
  EXPECT_FALSE(objects_.text(cluster::kGpuNode, {"", "n2"}).empty());
  EXPECT_EQ(clear(), true) << "there is none any more";
}

TEST_F(CleanupTest, ANodeThatIsGoneIsClear) {
  objects_.serve(cluster::kNodeFeature, false);
  objects_.serve(cluster::kGpuNode, false);
  plan_.gpu_node = true;
  plan_.condition = true;
  plan_.labels = config::LabelOutput::kNode;
  EXPECT_EQ(clear(), true);
  plan_.labels = config::LabelOutput::kNodeFeature;
  EXPECT_EQ(clear(), true);
}

TEST_F(CleanupTest, WhatFailsIsTriedAgainAndTheStateStaysUntilThen) {
  write("state/config.json");
  plan_.condition = true;
  objects_.refuse("get", cluster::kNode, {Code::kUnavailable, "the API server is away"}, 6);
  EXPECT_EQ(clear(5), false) << "told to stop";
  EXPECT_TRUE(there("state/config.json"));
  EXPECT_EQ(log_.count("the condition of Node n1: the API server is away"), 1);
  EXPECT_EQ(waits_, (std::vector<milliseconds>{seconds(1), seconds(2), seconds(4), seconds(8),
                                               seconds(16)}));
  EXPECT_EQ(clear(5), true);
  EXPECT_FALSE(there("state/config.json"));
}

TEST_F(CleanupTest, AtTheDeadlineItSaysWhatIsLeft) {
  plan_.condition = true;
  objects_.refuse("get", cluster::kNode, {Code::kPermission, "nodes is forbidden"});
  deadline_ = clock_.now() + seconds(10);
  const auto result = clear(100);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kTimeout);
  EXPECT_THAT(result.error().message(), HasSubstr("the condition of Node n1 (nodes is forbidden)"));
  EXPECT_THAT(result.error().message(), HasSubstr("the state folder"));
  EXPECT_THAT(result.error().message(), HasSubstr("run it again"));
}

class PlanTest : public CleanupTest {
 protected:
  CleanupPlan plan(config::Sources sources) {
    sources.environment["TRANCHE_STATE_DIR"] = path("state");
    const auto options = config::load_agent_options(sources);
    EXPECT_TRUE(options) << (options ? "" : options.error().message());
    return plan_cleanup(sources, options.value_or(config::AgentOptions()), log_.log());
  }
};

TEST_F(PlanTest, ByFlagsAndEnvironment) {
  const auto bare = plan({});
  EXPECT_EQ(bare.feature_file, "/etc/kubernetes/node-feature-discovery/features.d/gfd");
  EXPECT_EQ(bare.labels, config::LabelOutput::kFile);
  EXPECT_FALSE(bare.cdi);
  EXPECT_FALSE(bare.needs_api_server());
  const auto told = plan({.environment = {{"CONFIG_MAP", "m"},
                                          {"NODE_NAME", "n1"},
                                          {"NAMESPACE", "gpu"},
                                          {"LABEL_OUTPUT", "node"},
                                          {"DEVICE_LIST_STRATEGY", "cdi-cri"},
                                          {"GFD_OUTPUT_FILE", "/x/gfd"}}});
  EXPECT_EQ(told.feature_file, "/x/gfd");
  EXPECT_EQ(told.labels, config::LabelOutput::kNode);
  EXPECT_TRUE(told.condition);
  EXPECT_TRUE(told.cdi);
  EXPECT_EQ(told.ns, "gpu");
  const auto off = plan(
      {.environment = {{"LABEL_OUTPUT", "node"}, {"NODE_NAME", "n1"}, {"TRANCHE_LABELS", "off"}}});
  EXPECT_FALSE(off.needs_api_server());
}

TEST_F(PlanTest, ByTheConfigurationThatWasInForce) {
  ASSERT_TRUE(
      ConfigMemory(path("state"))
          .store({.origin = "x",
                  .text =
                      "version: v1\nflags:\n  gfd:\n    outputFile: /opt/nvidia/gfd\n  plugin:\n"
                      "    deviceListStrategy: cdi-annotations\n",
                  .name = "m:k"}));
  const auto kept = plan({.environment = {{"CONFIG_MAP", "m"}, {"NODE_NAME", "n1"}}});
  EXPECT_EQ(kept.feature_file, "/opt/nvidia/gfd");
  EXPECT_TRUE(kept.cdi);
}

TEST_F(PlanTest, ABrokenMemoryLeavesFlags) {
  write("state/config.json", "{");
  const auto broken = plan(
      {.environment = {{"CONFIG_MAP", "m"}, {"NODE_NAME", "n1"}, {"GFD_OUTPUT_FILE", "/x/gfd"}}});
  EXPECT_EQ(broken.feature_file, "/x/gfd");
  EXPECT_EQ(log_.count("is not known"), 1);
}

}  // namespace
}  // namespace tranche::agent::cleanup_test
