#include "admission/outdated.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "admission/fleet.h"
#include "admission/share.h"

namespace tranche::admission::outdated_test {
namespace {

using nlohmann::json;

const DraModel kL20{.product = "NVIDIA L20", .memory = Bytes::from_mib(46068)};
const DraModel kT4{.product = "Tesla T4", .memory = Bytes::from_mib(15360)};

ClaimTemplate made(const std::vector<DraModel>& models, const std::vector<Share>& shares) {
  return claim_template(shares, {.dra_models = models, .replicas = {}}, {}).value();
}

// The claim as Kubernetes makes it, with the API server's defaults.
json claim_from(const ClaimTemplate& source) {
  json claim = json::parse(source.json)["spec"];
  claim["metadata"]["ownerReferences"] = {
      {{"kind", "Pod"}, {"name", "p"}, {"controller", true}, {"blockOwnerDeletion", true}}};
  for (auto& request : claim["spec"]["devices"]["requests"]) {
    for (auto& one : request["firstAvailable"]) {
      one["allocationMode"] = "ExactCount";
      one["count"] = 1;
    }
  }
  return claim;
}

bool lacks(const json& claim, const ClaimTemplate& wanted) {
  const auto text = claim.dump();
  return lacks_what_is_wanted(tranche::json::parse(text).value(), wanted);
}

bool untouched(const json& claim) {
  const auto text = claim.dump();
  return is_untouched(tranche::json::parse(text).value());
}

const std::vector<Share> kHalf = {{.memory = {}, .percent = 50}};

TEST(Outdated, IsAClaimThatLacksAModelOfTheCluster) {
  const std::vector<Share> together = {{.memory = {}, .percent = 50},
                                       {.memory = {}, .percent = 25}};
  const std::vector<Share> bytes = {{.memory = Bytes::from_mib(12288), .percent = 50}};
  auto smaller = kL20;
  smaller.memory = Bytes::from_mib(45476);
  struct Case {
    const char* name;
    std::vector<DraModel> before;
    std::vector<DraModel> now;
    std::vector<Share> shares;
    bool lacks;
  };
  const Case cases[] = {
      {"the same", {kL20}, {kL20}, kHalf, false},
      {"another joined", {kL20}, {kT4, kL20}, kHalf, true},
      {"another came in its place", {kL20}, {kT4}, kHalf, true},
      {"one has gone", {kT4, kL20}, {kL20}, kHalf, false},
      {"it has less memory than it had", {kL20}, {smaller}, kHalf, true},
      {"together", {kL20}, {kT4, kL20}, together, true},
      {"together, the same", {kT4, kL20}, {kT4, kL20}, together, false},
      {"bytes name no model", {kL20}, {kT4, kL20}, bytes, false},
  };
  for (const auto& [name, before, now, shares, expected] : cases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(lacks(claim_from(made(before, shares)), made(now, shares)), expected);
  }
}

TEST(Outdated, QuantitiesAreComparedByValue) {
  auto claim = claim_from(made({kL20}, kHalf));
  auto& amounts =
      claim["spec"]["devices"]["requests"][0]["firstAvailable"][0]["capacity"]["requests"];
  amounts["memory"] = std::to_string(std::uint64_t{23034} << 20U);
  EXPECT_FALSE(lacks(claim, made({kL20}, kHalf)));
}

TEST(Outdated, WhatCannotBeReadIsLeftAlone) {
  for (const char* text : {"{}", "[]", R"({"spec":{"devices":{"requests":5}}})",
                           R"({"spec":{"devices":{"requests":[{"name":"other"}]}}})"}) {
    EXPECT_FALSE(lacks(json::parse(text), made({kT4, kL20}, kHalf))) << text;
  }
}

TEST(Untouched, IsAnUnusedClaim) {
  const auto claim = claim_from(made({kL20}, kHalf));
  EXPECT_TRUE(untouched(claim));
  const std::pair<const char*, json> patches[] = {
      {"allocated", {{"status", {{"allocation", json::object()}}}}},
      {"reserved", {{"status", {{"reservedFor", {{{"resource", "pods"}, {"name", "p"}}}}}}}},
      {"about to be allocated",
       {{"metadata", {{"finalizers", {"resource.kubernetes.io/delete-protection"}}}}}},
      {"being deleted", {{"metadata", {{"deletionTimestamp", "2026-01-01T00:00:00Z"}}}}},
      {"not made from a template of ours", {{"metadata", {{"labels", nullptr}}}}},
      {"a user's own", {{"metadata", {{"ownerReferences", json::array()}}}}},
      {"of a PodGroup",
       {{"metadata", {{"ownerReferences", {{{"kind", "PodGroup"}, {"controller", true}}}}}}}},
      {"unreadable", {{"status", 5}}},
  };
  for (const auto& [name, patch] : patches) {
    auto changed = claim;
    changed.merge_patch(patch);
    if (std::string(name) == "unreadable") changed["metadata"]["finalizers"] = "x";
    EXPECT_FALSE(untouched(changed)) << name;
  }
}

}  // namespace
}  // namespace tranche::admission::outdated_test
