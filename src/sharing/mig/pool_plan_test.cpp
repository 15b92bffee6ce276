#include "mig/pool_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/envelope.h"
#include "cluster/formats/mig_change.h"

namespace tranche::mig::pool_plan_test {
namespace {

using cluster::Node;
using Phase = PoolStatus::Phase;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr cluster::WallTime kNow{std::chrono::seconds(1'767'225'600)};

Pool pool() { return {.name = "a100", .node_selector = {{"pool", "a100"}}, .layout = "new"}; }

std::string outcome(const std::string& label, const std::string& trouble = "") {
  const nlohmann::json content = {{"label", label}, {"trouble", trouble}};
  return seal({.version = "mig-applied/v1", .key = "outcome"}, content.dump());
}

// Sets the agent's state for the label's layout.
void say(Node& node, const std::string& state) {
  if (!state.empty()) node.labels[cluster::kMigStateLabel] = state;
  if (state != "success" && state != "failed") return;
  node.annotations[cluster::kMigAppliedAnnotation] =
      outcome(cluster::value_of(node.labels, cluster::kMigConfigLabel),
              state == "failed" ? "NVML: in use" : "");
}

Node node(const std::string& name, const std::string& label = "", const std::string& state = "") {
  Node node{.name = name, .labels = {{"pool", "a100"}}, .conditions = {{"Ready", "True", "", ""}}};
  if (!label.empty()) node.labels[cluster::kMigConfigLabel] = label;
  say(node, state);
  return node;
}

PoolMark mark(const std::string& before = "", cluster::WallTime since = kNow) {
  return {.pool = "a100", .layout = "new", .before = before, .label = "new", .since = since};
}

Node marked(Node node, const PoolMark& mark) {
  node.annotations[kMigPoolAnnotation] = encode(mark);
  return node;
}

std::vector<std::string> written(const PoolPlan& plan) {
  std::vector<std::string> names;
  for (const auto& write : plan.writes) names.push_back(write.node.name + '=' + write.mark.label);
  return names;
}

TEST(PoolMark, ComesBackAsWritten) {
  const auto one = mark("old");
  const auto read = decode_pool_mark(encode(one));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, one);
}

// The sample that tests/e2e/test_schemas.py compares with the schema.
TEST(PoolMark, IsWrittenAsTheSample) {
  std::ifstream file("tests/data/mig-pool-v1.json");
  const nlohmann::json sample = nlohmann::json::parse(file);
  const PoolMark written{.pool = "a100",
                         .layout = "all-1g.10gb",
                         .before = "all-disabled",
                         .label = "all-1g.10gb",
                         .since = kNow};
  EXPECT_EQ(nlohmann::json::parse(encode(written)), sample);
  EXPECT_EQ(decode_pool_mark(sample.dump()), written);
}

TEST(PoolMark, AnImpossibleOneIsRefused) {
  for (
      const auto* text :
      {"", "{", "[]", R"({"version":"mig-pool/v2"})",
       R"({"version":"mig-pool/v1","pool":"a","layout":"a b","since":"2026-01-01T00:00:00Z"})",
       R"({"version":"mig-pool/v1","pool":"a","layout":"b","since":"soon"})",
       R"({"version":"mig-pool/v1","pool":"a","layout":"b","back":1,"since":"2026-01-01T00:00:00Z"})"}) {
    EXPECT_FALSE(decode_pool_mark(text)) << text;
  }
  EXPECT_FALSE(decode_pool_mark(std::string(5000, ' ')));
}

TEST(PoolPlan, OneNodeAfterTheOther) {
  const auto plan = plan_pool(pool(), {node("c"), node("a"), node("b")}, kNow);
  EXPECT_THAT(written(plan), ElementsAre("a=new"));
  EXPECT_EQ(plan.writes[0].mark, mark());
  EXPECT_EQ(plan.status.phase, Phase::kRolling);
  EXPECT_EQ(describe(plan.status), "rolling: 0 of 3 nodes have new");
}

TEST(PoolPlan, WhereEachNodeStands) {
  const auto ours = [](const std::string& state) {
    return marked(node("a", "new", state), mark());
  };
  auto gone_back = mark("old");
  gone_back.back = true;
  gone_back.label = "old";
  auto before = mark();
  before.layout = before.label = "older";
  auto cordoned = node("a");
  cordoned.unschedulable = true;
  auto of_before = ours("success");
  of_before.annotations[cluster::kMigAppliedAnnotation] = outcome("older");
  auto of_a_failure = ours("success");
  of_a_failure.annotations[cluster::kMigAppliedAnnotation] = outcome("new", "NVML: in use");
  auto unreported = node("a", "new", "success");
  unreported.annotations.clear();
  auto lost = node("a");
  lost.conditions[0].status = "Unknown";
  const auto late = kNow - std::chrono::minutes(31);
  const struct {
    const char* name;
    Node node;
    Phase phase;
    std::vector<std::string> writes;  // in addition to the node "b", which has nothing yet
    std::string said;
  } cases[] = {
      {"it waits for the agent", ours("pending"), Phase::kRolling, {}, "now a"},
      {"the agent has not said anything", ours(""), Phase::kRolling, {}, "now a"},
      {"its success is of the layout before", of_before, Phase::kRolling, {}, "now a"},
      {"its success is none", of_a_failure, Phase::kRolling, {}, "now a"},
      {"no agent of ours says it", unreported, Phase::kRolling, {"b=new"}, "no agent of Tranche"},
      {"it is done", ours("success"), Phase::kRolling, {"b=new"}, "1 of 2"},
      {"it has failed", ours("failed"), Phase::kStopped, {}, "failed: a"},
      {"it takes too long",
       marked(node("a", "new", "pending"), mark("", late)),
       Phase::kStopped,
       {},
       "timeout"},
      {"somebody else's label", node("a", "theirs"), Phase::kRolling, {"b=new"}, "left alone: a"},
      {"somebody changed it since",
       marked(node("a", "theirs", "success"), mark()),
       Phase::kRolling,
       {"b=new"},
       "left alone: a"},
      {"somebody removed it since",
       marked(node("a"), mark()),
       Phase::kRolling,
       {"b=new"},
       "left alone: a"},
      {"somebody set the same", node("a", "new", "success"), Phase::kRolling, {"b=new"}, "1 of 2"},
      {"the pool's layout before",
       marked(node("a", "older", "success"), before),
       Phase::kRolling,
       {"a=new"},
       "0 of 2"},
      {"a cordoned node costs nothing", cordoned, Phase::kRolling, {"a=new"}, "0 of 2"},
      {"a lost node is away", lost, Phase::kRolling, {}, "left alone: a (it is not Ready)"},
      {"it went back",
       marked(node("a", "old", "success"), gone_back),
       Phase::kRolledBack,
       {},
       "rolled back"},
      {"it is going back",
       marked(node("a", "old", "pending"), gone_back),
       Phase::kRollingBack,
       {},
       "now a"},
      {"a torn annotation is none",
       [] {
         auto torn = node("a", "new", "pending");
         torn.annotations[kMigPoolAnnotation] = "{";
         return torn;
       }(),
       Phase::kRolling,
       {},
       "now a"},
  };
  for (const auto& one : cases) {
    const auto plan = plan_pool(pool(), {one.node, node("b")}, kNow);
    EXPECT_EQ(to_string(plan.status.phase), to_string(one.phase)) << one.name;
    EXPECT_EQ(written(plan), one.writes) << one.name;
    EXPECT_THAT(describe(plan.status), HasSubstr(one.said)) << one.name;
  }
}

TEST(PoolPlan, NodesOfOthersAreNotLookedAt) {
  auto other = node("a");
  other.labels["pool"] = "h100";
  const auto plan = plan_pool(pool(), {other}, kNow);
  EXPECT_THAT(plan.writes, IsEmpty());
  EXPECT_EQ(plan.status.nodes, 0U);
  EXPECT_EQ(plan.status.phase, Phase::kDone);
}

TEST(PoolPlan, AsManyAtOnceAsThePoolAllows) {
  auto wide = pool();
  wide.max_unavailable = {.number = 50, .percent = true};
  const auto plan = plan_pool(
      wide, {marked(node("a", "new", "pending"), mark()), node("b"), node("c"), node("d")}, kNow);
  EXPECT_THAT(written(plan), ElementsAre("b=new"));
}

TEST(PoolPlan, AfterAFailureEachGetsBackWhatItHad) {
  auto back = pool();
  back.on_failure = Pool::OnFailure::kRollBack;
  back.max_unavailable.number = 9;
  const std::vector<Node> nodes = {
      marked(node("a", "new", "success"), mark("old")), marked(node("b", "new", "failed"), mark()),
      marked(node("c", "new", "pending"), mark()), node("d"), node("e", "theirs", "success")};
  auto plan = plan_pool(back, nodes, kNow);
  EXPECT_THAT(written(plan), ElementsAre("a=old", "b="));
  EXPECT_TRUE(plan.writes[0].mark.back);
  EXPECT_EQ(plan.status.phase, Phase::kRollingBack);
  back.roll_back_to = "all-disabled";
  plan = plan_pool(back, nodes, kNow);
  EXPECT_THAT(written(plan), ElementsAre("a=old", "b=all-disabled"));
}

TEST(PoolPlan, AnotherLayoutBeginsAfterARollBack) {
  auto gone_back = mark();
  gone_back.back = true;
  gone_back.label = "";
  auto next = pool();
  next.layout = "newer";
  const auto plan = plan_pool(next, {marked(node("a"), gone_back)}, kNow);
  EXPECT_THAT(written(plan), ElementsAre("a=newer"));
}

TEST(PoolPlan, AStatusOfManyNodesIsShort) {
  PoolStatus status{.phase = Phase::kStopped, .layout = "new", .nodes = 100};
  for (int i = 0; i < 100; ++i) status.failed.push_back({"n" + std::to_string(i), "why"});
  EXPECT_THAT(describe(status), HasSubstr("n9 (why) and 90 more"));
}

// ---- every interleaving

// Nodes with their agents, which take time and may fail.
struct World {
  std::vector<Node> nodes;
  std::map<std::string, bool> fails;  // the new layout, on this node
  std::map<std::string, std::string> had;
};

World any_world() {
  World world;
  const int count = *rc::gen::inRange(1, 7);
  for (int i = 0; i < count; ++i) {
    const auto name = std::string(1, static_cast<char>('a' + i));
    // Some have an earlier layout from the pool, some one from a person, some none.
    auto one = node(name);
    const int kind = *rc::gen::inRange(0, 6);
    if (kind == 0) one = node(name, "theirs", "success");
    if (kind == 1) {
      auto earlier = mark();
      earlier.layout = earlier.label = "older";
      one = marked(node(name, "older", "success"), earlier);
    }
    world.had[name] = cluster::value_of(one.labels, cluster::kMigConfigLabel);
    world.fails[name] = *rc::gen::inRange(0, 6) == 0;
    world.nodes.push_back(std::move(one));
  }
  return world;
}

// Like MigPools, in one write.
void write(World& world, const PoolWrite& write) {
  for (auto& node : world.nodes) {
    if (node.name != write.node.name) continue;
    node.annotations[kMigPoolAnnotation] = encode(write.mark);
    if (write.mark.label.empty()) {
      node.labels.erase(cluster::kMigConfigLabel);
    } else {
      node.labels[cluster::kMigConfigLabel] = write.mark.label;
      node.labels[cluster::kMigStateLabel] = "pending";
    }
  }
}

std::vector<Node*> changing(World& world) {
  std::vector<Node*> found;
  for (auto& node : world.nodes) {
    if (cluster::value_of(node.labels, cluster::kMigStateLabel) == "pending" &&
        node.labels.contains(cluster::kMigConfigLabel)) {
      found.push_back(&node);
    }
  }
  return found;
}

void agent_ends(World& world, Node& node) {
  const bool fails = node.labels.at(cluster::kMigConfigLabel) == "new" && world.fails[node.name];
  say(node, fails ? "failed" : "success");
}

RC_GTEST_PROP(PoolPlan, NeverExceedsTheBudgetAndEndsComplete, ()) {
  auto world = any_world();
  auto wanted = pool();
  wanted.max_unavailable = {.number = *rc::gen::inRange(1, 4), .percent = false};
  const bool rolls_back = *rc::gen::arbitrary<bool>();
  if (rolls_back) wanted.on_failure = Pool::OnFailure::kRollBack;
  PoolPlan plan;
  for (int turn = 0; turn < 200; ++turn) {
    plan = plan_pool(wanted, world.nodes, kNow);
    auto busy = changing(world);
    if (plan.writes.empty() && busy.empty()) break;
    // A controller may end after any of its writes; the next one plans anew.
    const bool controller = busy.empty() || (!plan.writes.empty() && *rc::gen::arbitrary<bool>());
    if (controller) {
      const auto count = *rc::gen::inRange<std::size_t>(1, plan.writes.size() + 1);
      for (std::size_t i = 0; i < count; ++i) write(world, plan.writes[i]);
    } else {
      agent_ends(world, **rc::gen::elementOf(busy));
    }
    RC_ASSERT(changing(world).size() <= static_cast<std::size_t>(wanted.max_unavailable.number));
  }
  RC_ASSERT(plan.writes.empty());
  RC_ASSERT(changing(world).empty());
  bool failed = false;
  for (const auto& node : world.nodes) {
    const auto& label = cluster::value_of(node.labels, cluster::kMigConfigLabel);
    if (world.had[node.name] == "theirs") RC_ASSERT(label == "theirs");
    failed = failed || (label == "new" &&
                        cluster::value_of(node.labels, cluster::kMigStateLabel) == "failed");
  }
  using enum Phase;
  const auto phase = plan.status.phase;
  RC_ASSERT(phase == kDone || phase == (rolls_back ? kRolledBack : kStopped));
  RC_ASSERT(failed == (phase == kStopped));
  for (const auto& node : world.nodes) {
    const auto& label = cluster::value_of(node.labels, cluster::kMigConfigLabel);
    if (phase == kDone && world.had[node.name] != "theirs") RC_ASSERT(label == "new");
    if (phase == kRolledBack) RC_ASSERT(label == world.had[node.name]);
  }
}

}  // namespace
}  // namespace tranche::mig::pool_plan_test
