#include "admission/quota/charge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "admission/share.h"

namespace tranche::admission::quota::charge_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<DraModel> kModels = {{.product = "NVIDIA L20", .memory = Bytes::from_mib(46068)},
                                       {.product = "Tesla T4", .memory = Bytes::from_mib(15360)}};

constexpr std::int64_t kMilli = kWhole / 1000;

json exactly(const json& capacity, const json& more = json::object()) {
  json one = {{"deviceClassName", "gpu-share"}};
  if (!capacity.is_null()) one["capacity"]["requests"] = capacity;
  one.update(more);
  return {{"name", "gpu"}, {"exactly", one}};
}

json on(const char* product, const json& capacity) {
  const auto expression =
      std::string("device.attributes['gpu.nvidia.com'].productName == '") + product + "'";
  return exactly(capacity, {{"selectors", {{{"cel", {{"expression", expression}}}}}}});
}

Result<std::int64_t> charge(const json& requests) {
  const json claim = {{"spec", {{"devices", {{"requests", requests}}}}}};
  const auto text = claim.dump();
  const auto view = tranche::json::parse(text);
  EXPECT_TRUE(view);
  return charge_of(view.value(), kModels, {});
}

TEST(Charge, IsTheLargerOfMemoryAndCompute) {
  struct Case {
    const char* name;
    json request;
    std::int64_t permille;
  };
  const Case cases[] = {
      {"compute", exactly({{"memory", "1Mi"}, {"compute", "50"}}), 500},
      {"memory of the dearest model that has so much",
       exactly({{"memory", "7680Mi"}, {"compute", "1"}}), 500},
      {"memory that the small model has not", exactly({{"memory", "23034Mi"}, {"compute", "1"}}),
       500},
      {"memory that none has", exactly({{"memory", "80Gi"}, {"compute", "1"}}), 1000},
      {"rounded up", exactly({{"memory", "1Mi"}, {"compute", "1"}}), 10},
      {"memory of which the model has no whole number",
       exactly({{"memory", "1"}, {"compute", "1"}}), 10},
      {"no compute", exactly({{"memory", "1Gi"}}), 1000},
      {"no memory", exactly({{"compute", "10"}}), 1000},
      {"nothing", exactly(nullptr), 1000},
      {"more than there is", exactly({{"memory", "1Gi"}, {"compute", "200"}}), 1000},
      {"three", exactly({{"memory", "1Mi"}, {"compute", "25"}}, {{"count", 3}}), 750},
      {"a named model", on("NVIDIA L20", {{"memory", "11517Mi"}, {"compute", "25"}}), 250},
      {"a named model that is too small", on("Tesla T4", {{"memory", "20Gi"}, {"compute", "5"}}),
       1000},
      {"a selector that nobody understands", on("X", {{"memory", "7680Mi"}, {"compute", "5"}}),
       500},
      {"an amount by another name",
       exactly({{"memory", "1Mi"}, {"compute", "1"}, {"gpu.nvidia.com/compute", "100"}}), 1000},
      {"for monitoring", exactly(nullptr, {{"adminAccess", true}}), 0},
      {"another class", exactly(nullptr, {{"deviceClassName", "gpu.nvidia.com"}}), 0},
  };
  for (const auto& [name, request, permille] : cases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(charge(json::array({request})), permille * kMilli);
  }
}

TEST(Charge, CountsOnlyTheGivenClasses) {
  const std::vector<std::string> classes = {"gpu-share", "team-gpus"};
  const auto charged = [&](const char* name) {
    const json claim = {
        {"spec", {{"devices", {{"requests", {exactly(nullptr, {{"deviceClassName", name}})}}}}}}};
    const auto text = claim.dump();
    EXPECT_TRUE(may_name_a_class(text, classes) || std::string(name) == "gpu.nvidia.com");
    return charge_of(tranche::json::parse(text).value(), kModels, {.classes = classes});
  };
  EXPECT_EQ(charged("gpu-share"), kWhole);
  EXPECT_EQ(charged("team-gpus"), kWhole);
  EXPECT_EQ(charged("gpu.nvidia.com"), 0);
  EXPECT_EQ(charged("gpu-shares"), 0);
}

TEST(Charge, IsTheMostExpensiveAlternativeAndTheSumOfRequests) {
  const json alternatives = {{"name", "gpu"},
                             {"firstAvailable",
                              {exactly({{"memory", "1Mi"}, {"compute", "50"}})["exactly"],
                               exactly({{"memory", "1Mi"}, {"compute", "75"}})["exactly"]}}};
  EXPECT_EQ(charge(json::array({alternatives})), 750 * kMilli);
  EXPECT_EQ(charge(json::array({alternatives, alternatives})), 1500 * kMilli);
  EXPECT_EQ(charge(json::array()), 0);
}

// A fraction's template is charged as the fraction, on any model.
TEST(Charge, OfAFractionIsTheFraction) {
  for (const int percent : {1, 7, 25, 33, 50, 99}) {
    const auto made = claim_template({{.memory = {}, .percent = percent}},
                                     {.dra_models = kModels, .replicas = {}}, {});
    ASSERT_TRUE(made);
    const auto view = tranche::json::parse(made->json);
    ASSERT_TRUE(view);
    EXPECT_EQ(charge_of(view->find("spec").value(), kModels, {}), percent * 10 * kMilli);
  }
}

TEST(Charge, UncountableClaimsAreRefused) {
  struct Case {
    const char* name;
    json request;
    const char* what;
  };
  const Case cases[] = {
      {"all", exactly(nullptr, {{"allocationMode", "All"}}), "allocationMode is All"},
      {"too many", exactly(nullptr, {{"count", std::int64_t{1} << 62U}}), "more than there can be"},
      {"no amount", exactly({{"compute", "half"}}), "is 'half', which is no amount"},
      {"less than nothing", exactly({{"memory", "-1"}}), "is '-1', which is no amount"},
      {"another kind", exactly({{"memory", 5}}), "memory"},
  };
  for (const auto& [name, request, what] : cases) {
    SCOPED_TRACE(name);
    const auto result = charge(json::array({request}));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
    EXPECT_THAT(result.error().message(), HasSubstr(what));
  }
}

}  // namespace
}  // namespace tranche::admission::quota::charge_test
