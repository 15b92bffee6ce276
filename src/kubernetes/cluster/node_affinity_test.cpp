#include "cluster/node_affinity.h"

#include <gtest/gtest.h>

namespace tranche::cluster::node_affinity_test {
namespace {

TEST(NodeAffinity, Selects) {
  const Node node{.name = "gpu-1", .labels = {{"product", "A100"}, {"count", "8"}, {"odd", "x"}}};
  const NodeSelectorTerm a100{.labels = {{"product", "In", {"A100", "H100"}}}, .fields = {}};
  const NodeSelectorTerm h100{.labels = {{"product", "In", {"H100"}}}, .fields = {}};
  const NodeSelectorTerm named{.labels = {}, .fields = {{"metadata.name", "In", {"gpu-1"}}}};
  const NodeSelectorTerm other{.labels = {}, .fields = {{"metadata.name", "In", {"gpu-2"}}}};
  const auto count = [](const char* op, std::vector<std::string> values) {
    return NodeSelector{{.labels = {{"count", op, std::move(values)}}, .fields = {}}};
  };
  const struct {
    const char* name;
    NodeSelector selector;
    bool selected;
  } cases[] = {
      {"no term", {}, false},
      {"a term without conditions", {{}}, false},
      {"a label", {a100}, true},
      {"another value", {h100}, false},
      {"one of two terms", {h100, a100}, true},
      {"both conditions of a term",
       {{.labels = {a100.labels[0], h100.labels[0]}, .fields = {}}},
       false},
      {"by name", {named}, true},
      {"by another name", {other}, false},
      {"label and name", {{.labels = a100.labels, .fields = other.fields}}, false},
      {"Gt", count("Gt", {"7"}), true},
      {"Gt, the same", count("Gt", {"8"}), false},
      {"Lt", count("Lt", {"9"}), true},
      {"Lt, the same", count("Lt", {"8"}), false},
      {"Gt without a value", count("Gt", {}), false},
      {"Gt of no number", {{.labels = {{"odd", "Gt", {"1"}}}, .fields = {}}}, false},
      {"Gt than no number", count("Gt", {"7 GPUs"}), false},
      {"Gt of a label that is absent", {{.labels = {{"none", "Gt", {"1"}}}, .fields = {}}}, false},
  };
  for (const auto& c : cases) EXPECT_EQ(selects(c.selector, node), c.selected) << c.name;
}

TEST(NodeAffinity, ReadsWhatIsRequiredAlone) {
  const auto read = read_required_nodes(R"({"nodeAffinity": {
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}],
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
      {"matchExpressions": [{"key": "product", "operator": "Exists"}]},
      {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]}]}}})");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, (NodeSelector{{.labels = {{"product", "Exists"}}, .fields = {}},
                                 {.labels = {}, .fields = {{"metadata.name", "In", {"gpu-1"}}}}}));
}

TEST(NodeAffinity, NothingRequired) {
  for (const auto* text : {"", "{}", R"({"podAffinity": {}})", R"({"nodeAffinity": {}})",
                           R"({"nodeAffinity": null})"}) {
    const auto read = read_required_nodes(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, std::nullopt) << text;
  }
}

TEST(NodeAffinity, WhatCannotBeReadIsNoEmptyOne) {
  for (const auto* text : {"{", "[]", R"({"nodeAffinity": 1})",
                           R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                              {"nodeSelectorTerms": [{"matchExpressions": {}}]}}})"}) {
    EXPECT_FALSE(read_required_nodes(text)) << text;
  }
}

}  // namespace
}  // namespace tranche::cluster::node_affinity_test
