#include "cdi/limit_hook.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "offer/grant.h"

namespace tranche::cdi::limit_hook_test {
namespace {

using nlohmann::json;

TEST(LimitHookSpec, IsOneDeviceWithOneHook) {
  const auto file = limit_hook_spec("/s/hook/tranche-limit-hook", "/s/tenants");
  EXPECT_EQ(file.name, "tranche.dev-limits.json");
  const json spec = json::parse(file.json);
  EXPECT_EQ(spec.at("kind").get<std::string>() + "=" +
                spec.at("devices").at(0).at("name").get<std::string>(),
            offer::kHookDevice);
  EXPECT_EQ(spec.at("devices").at(0).at("containerEdits"), json::parse(R"({"hooks":[{
      "hookName":"createRuntime","path":"/s/hook/tranche-limit-hook",
      "args":["tranche-limit-hook","--tenants","/s/tenants"],"timeout":30}]})"));
  EXPECT_EQ(spec.at("cdiVersion"), "0.3.0");
  EXPECT_TRUE(spec.at("containerEdits").empty());
}

}  // namespace
}  // namespace tranche::cdi::limit_hook_test
