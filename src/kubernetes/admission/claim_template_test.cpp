#include "admission/claim_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tranche::admission::claim_template_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr Share kHalf{.memory = {}, .percent = 50};
constexpr Share kQuarter{.memory = {}, .percent = 25};
constexpr Share kBytes{.memory = Bytes::from_mib(12288), .percent = 40};

Fleet mixed() {
  return {
      .dra_models = {{"NVIDIA L20", Bytes::from_mib(46068)}, {"Tesla T4", Bytes::from_mib(15360)}},
      .replicas = {}};
}

json made(const std::vector<Share>& shares, const Fleet& fleet, const ClaimOptions& options = {}) {
  const auto made = claim_template(shares, fleet, options);
  return made ? json::parse(made->json) : json(made.error().message());
}

TEST(ClaimTemplate, HasASubrequestForEachModel) {
  const auto expected = json::parse(R"({
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
    "metadata": {"name": "tranche-gpu-50", "labels": {"tranche.dev/gpu-share": "true"}},
    "spec": {
      "metadata": {"labels": {"tranche.dev/gpu-share": "true"}},
      "spec": {"devices": {"requests": [{"name": "gpu", "firstAvailable": [
        {"name": "l20", "deviceClassName": "gpu-share",
         "selectors": [{"cel": {"expression":
            "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L20'"}}],
         "capacity": {"requests": {"memory": "23034Mi", "compute": "50"}}},
        {"name": "t4", "deviceClassName": "gpu-share",
         "selectors": [{"cel": {"expression":
            "device.attributes['gpu.nvidia.com'].productName == 'Tesla T4'"}}],
         "capacity": {"requests": {"memory": "7680Mi", "compute": "50"}}}]}]}}}})");
  EXPECT_EQ(made({kHalf}, mixed()), expected);
}

TEST(ClaimTemplate, HasTheSameFormWithOneModel) {
  const auto request = made({kHalf}, {.dra_models = {mixed().dra_models[0]},
                                      .replicas = {}})["spec"]["spec"]["devices"]["requests"][0];
  EXPECT_EQ(request["firstAvailable"].size(), 1U);
  EXPECT_EQ(request["firstAvailable"][0]["name"], "l20");
}

TEST(ClaimTemplate, AsksBytesOfAnyModel) {
  const auto devices = made({kBytes}, mixed())["spec"]["spec"]["devices"];
  EXPECT_EQ(devices, json::parse(R"({"requests": [{"name": "gpu", "firstAvailable": [
    {"name": "any", "deviceClassName": "gpu-share",
     "capacity": {"requests": {"memory": "12288Mi", "compute": "40"}}}]}]})"));
}

TEST(ClaimTemplate, PlacesSeveralSharesOnOneGpu) {
  const auto whole = made({kHalf, kQuarter}, mixed(), {.driver = "gpu.example.com"});
  EXPECT_EQ(whole["metadata"]["name"], "tranche-gpu-together-50-25");
  const auto devices = whole["spec"]["spec"]["devices"];
  EXPECT_EQ(devices["constraints"], json::parse(R"([{"matchAttribute": "gpu.example.com/uuid"}])"));
  ASSERT_EQ(devices["requests"].size(), 2U);
  EXPECT_EQ(devices["requests"][0]["name"], "gpu-0");
  EXPECT_EQ(devices["requests"][1]["name"], "gpu-1");
  EXPECT_EQ(devices["requests"][1]["firstAvailable"][1]["capacity"]["requests"]["memory"],
            "3840Mi");
}

TEST(ClaimTemplate, RefusesWhatTheFleetCannotGive) {
  Fleet many;
  for (int i = 0; i < 9; ++i) {
    many.dra_models.push_back({"Model " + std::to_string(i), Bytes::from_mib(1024)});
  }
  struct Case {
    const char* name;
    std::vector<Share> shares;
    Fleet fleet;
    const char* message;
  };
  const Case cases[] = {
      {"nine models", {kHalf}, many, "at most 8 models of GPUs, and there are 9: Model 0, Model 1"},
      {"no model", {kHalf}, {}, "no node is in mode dra; kubectl label node"},
      {"too many bytes",
       {{.memory = Bytes::from_mib(50000), .percent = 5}},
       mixed(),
       "no model of GPU can give 50000Mi and 5 % of compute of a GPU: the largest has 46068Mi"},
      {"less than a Mi",
       {kHalf},
       {.dra_models = {{"X", Bytes{1U << 20U}}}, .replicas = {}},
       "no model of GPU can give 0.5 of a GPU"},
      {"more than one GPU together",
       {kHalf, kHalf, kQuarter},
       mixed(),
       "together the containers ask for 125 % of one GPU"},
      {"no UTF-8",
       {kHalf},
       {.dra_models = {{"\xff", Bytes::from_mib(9)}}, .replicas = {}},
       "no UTF-8"},
  };
  for (const auto& [name, shares, fleet, message] : cases) {
    SCOPED_TRACE(name);
    const auto made = claim_template(shares, fleet, {});
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message(), HasSubstr(message));
  }
}

TEST(ClaimTemplate, UsesTheSmallerOfTwoModelsOfOneName) {
  auto fleet = mixed();
  fleet.dra_models.push_back({"NVIDIA L20", Bytes::from_mib(40000)});
  const auto alternatives =
      made({kHalf}, fleet)["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"];
  ASSERT_EQ(alternatives.size(), 2U);
  EXPECT_EQ(alternatives[0]["capacity"]["requests"]["memory"], "20000Mi");
}

TEST(ClaimTemplate, DoesNotTrustNames) {
  const Fleet fleet{.dra_models = {{"a' || true || '", Bytes::from_mib(1024)},
                                   {"A-true_", Bytes::from_mib(1024)},
                                   {"a true", Bytes::from_mib(1024)},
                                   {"\n", Bytes::from_mib(1024)}},
                    .replicas = {}};
  const auto alternatives =
      made({kHalf}, fleet)["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"];
  EXPECT_EQ(alternatives[0]["selectors"][0]["cel"]["expression"],
            R"(device.attributes['gpu.nvidia.com'].productName == 'a\' || true || \'')");
  EXPECT_EQ(alternatives[3]["selectors"][0]["cel"]["expression"],
            R"(device.attributes['gpu.nvidia.com'].productName == '\u000a')");
  EXPECT_EQ(alternatives[0]["name"], "a-true");
  EXPECT_EQ(alternatives[1]["name"], "a-true-2");
  EXPECT_EQ(alternatives[2]["name"], "a-true-3");
  EXPECT_EQ(alternatives[3]["name"], "gpu");
}

TEST(ClaimTemplate, MemoryIsRoundedDownWithoutOverflow) {
  const Fleet fleet{.dra_models = {{"odd", Bytes::from_mib(3)}, {"huge", Bytes{~std::uint64_t{0}}}},
                    .replicas = {}};
  const auto alternatives = made({{.memory = {}, .percent = 99}},
                                 fleet)["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"];
  EXPECT_EQ(alternatives[0]["capacity"]["requests"]["memory"], "2Mi");
  EXPECT_EQ(alternatives[1]["capacity"]["requests"]["memory"], "17416264183971Mi");
}

TEST(CelString, Escapes) {
  EXPECT_EQ(cel_string("NVIDIA L20"), "'NVIDIA L20'");
  EXPECT_EQ(cel_string("a'b\\c\"d"), R"('a\'b\\c"d')");
  EXPECT_EQ(cel_string("\x01\x7f\xc3\xa9"), "'\\u0001\\u007f\xc3\xa9'");
  EXPECT_FALSE(cel_string("a\xc3"));
}

TEST(ProductLabel, IsADnsLabel) {
  EXPECT_EQ(product_label("NVIDIA L20"), "l20");
  EXPECT_EQ(product_label("Tesla T4"), "t4");
  EXPECT_EQ(product_label("NVIDIA A100-SXM4-80GB"), "a100-sxm4-80gb");
  EXPECT_EQ(product_label("NVIDIA RTX PRO 6000 (Blackwell)"), "rtx-pro-6000-blackwell");
  EXPECT_EQ(product_label("--"), "gpu");
  EXPECT_EQ(product_label("NVIDIA "), "nvidia");
  EXPECT_LE(product_label(std::string(100, 'x')).size(), 63U);
}

}  // namespace
}  // namespace tranche::admission::claim_template_test
