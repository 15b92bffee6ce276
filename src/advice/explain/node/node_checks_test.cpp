#include "explain/node/node_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tranche::explain::node_checks_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodeFacts well() {
  NodeFacts facts{.gpus = {{.uuid = "GPU-1"}}, .agent_is_ready = true};
  facts.arbiter.emplace();
  facts.metrics.emplace();
  for (const auto* source : {"host-processes", "control-groups", "pods"}) {
    facts.sources.push_back({source, true});
  }
  return facts;
}

std::vector<std::string> ids(const NodeFacts& facts) {
  std::vector<std::string> found;
  for (const auto& one : examine(facts)) found.emplace_back(one.check->id);
  return found;
}

const Error kAway{Code::kUnavailable, "no answer"};

TEST(NodeChecks, TheTableIsInOrderAndEachHasWhatToDo) {
  const auto checks = node_checks();
  EXPECT_TRUE(std::ranges::is_sorted(checks, {}, &NodeCheck::id));
  std::set<std::string_view> seen;
  for (const auto& check : checks) {
    EXPECT_TRUE(seen.insert(check.id).second) << check.id;
    EXPECT_FALSE(check.what.empty() || check.fix.empty()) << check.id;
  }
}

TEST(NodeChecks, EachSourceOfMetricsHasOne) {
  for (const auto* source :
       {"driver", "host-processes", "control-groups", "pods", "kubelet", "arbiter"}) {
    ASSERT_NE(check_of_source(source), nullptr) << source;
  }
  EXPECT_EQ(check_of_source(""), nullptr);
  EXPECT_EQ(check_of_source("other"), nullptr);
}

TEST(NodeChecks, AWellNodeHasNoFinding) { EXPECT_THAT(ids(well()), IsEmpty()); }

TEST(NodeChecks, WhatDoesNotAnswerIsTold) {
  auto facts = well();
  facts.driver = {"/driver-root", kAway};
  facts.agent = {"/var/lib/tranche", kAway};
  facts.device_plugins.error = kAway;
  facts.pod_resources.error = kAway;
  facts.arbiter->alive.error = kAway;
  facts.metrics->error = kAway;
  facts.sources[0].works = false;
  EXPECT_THAT(ids(facts), ElementsAre("TRN-N001", "TRN-N010", "TRN-N020", "TRN-N021", "TRN-N030",
                                      "TRN-N040", "TRN-N041"));
  const auto first = examine(facts).front();
  EXPECT_EQ(first.where, "/driver-root");
  EXPECT_EQ(first.detail, "no answer");
}

TEST(NodeChecks, WhatAnswersMayHaveFindings) {
  auto facts = well();
  facts.gpus.push_back({.uuid = "GPU-2", .trouble = "GPU is lost"});
  facts.agent_is_ready = false;
  facts.agent_text = "waits for kubelet";
  facts.arbiter->driver_failure = "hangs";
  facts.arbiter->refused = {"5c1f: no such device"};
  EXPECT_THAT(ids(facts), ElementsAre("TRN-N003", "TRN-N011", "TRN-N032", "TRN-N033"));
  facts.gpus.clear();
  EXPECT_EQ(ids(facts).front(), "TRN-N002");
}

TEST(NodeChecks, WhatIsNotThereOnPurposeIsNone) {
  auto facts = well();
  facts.arbiter.reset();
  facts.metrics.reset();
  facts.sources.clear();
  EXPECT_THAT(ids(facts), IsEmpty());
}

}  // namespace
}  // namespace tranche::explain::node_checks_test
