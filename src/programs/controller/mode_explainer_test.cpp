#include "controller/mode_explainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/admission.h"

namespace tranche::controller::mode_explainer_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

cluster::Object pod(const std::string& claims_template) {
  auto pod = test::pod({{{"name", "main"}}});
  const json claim = {{"name", "tranche-gpu-main"}, {"resourceClaimTemplateName", claims_template}};
  pod["spec"]["resourceClaims"] = json::array({claim});
  return {.key = {.ns = "shop", .name = "p"}, .json = pod.dump()};
}

cluster::Node node(const std::string& mode) {
  cluster::Node node{.name = "n-" + mode};
  if (!mode.empty()) node.labels["tranche.dev/mode"] = mode;
  return node;
}

Explainer::Notes notes_of(const std::vector<cluster::Object>& pods,
                          std::vector<cluster::Node> nodes) {
  const auto notes = mode_explainer().explain(pods, [&] { return nodes; });
  EXPECT_TRUE(notes);
  return notes.value_or(Explainer::Notes());
}

TEST(ModeExplainer, APodWithAClaimOfAShareIsTold) {
  const auto notes =
      notes_of({pod("tranche-gpu-50"), pod("theirs")}, {node(""), node("device-plugin")});
  ASSERT_EQ(notes.size(), 2U);
  ASSERT_TRUE(notes[0]);
  EXPECT_THAT(*notes[0], HasSubstr("(tranche-gpu-50), and no node is in mode dra any more"));
  EXPECT_THAT(*notes[0], HasSubstr("kubectl label node NODE tranche.dev/mode=dra"));
  EXPECT_FALSE(notes[1]);
}

TEST(ModeExplainer, WhileANodeMayTakeItNothingIsSaid) {
  for (const auto* mode : {"dra", "dar"}) {
    EXPECT_FALSE(notes_of({pod("tranche-gpu-50")}, {node("device-plugin"), node(mode)})[0]) << mode;
  }
}

// A failure is not "no node".
TEST(ModeExplainer, NodesThatCannotBeReadAreAnError) {
  const auto notes = mode_explainer().explain({pod("tranche-gpu-50")}, [] {
    return Result<std::vector<cluster::Node>>(fail(Code::kUnavailable, "away"));
  });
  EXPECT_FALSE(notes);
}

TEST(ModeExplainer, OfOtherPodsNothingIsKept) {
  EXPECT_TRUE(mode_explainer().may_concern(pod("tranche-gpu-50").json));
  EXPECT_FALSE(mode_explainer().may_concern(test::pod({{{"name", "main"}}}).dump()));
}

}  // namespace
}  // namespace tranche::controller::mode_explainer_test
