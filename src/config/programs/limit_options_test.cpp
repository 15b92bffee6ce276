#include "config/programs/limit_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::config::limit_options_test {
namespace {

using testing::HasSubstr;
using Verb = LimitOptions::Verb;

TEST(LimitOptions, FlagsAndDefaults) {
  const auto set = load_limit_options({.flags = {{"namespace", "shop"},
                                                 {"container", "main"},
                                                 {"resource", "gpu.shared"},
                                                 {"memory", "8Gi"},
                                                 {"compute", "30%"},
                                                 {"class", "best-effort"},
                                                 {"timeout", "5s"},
                                                 {"context", "prod"}},
                                       .environment = {{"KUBECONFIG", "/k"}}},
                                      Verb::kSet, "p");
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(*set, (LimitOptions{.verb = Verb::kSet,
                                .ns = "shop",
                                .pod = "p",
                                .container = "main",
                                .resource = "nvidia.com/gpu.shared",
                                .memory = "8Gi",
                                .compute = "30%",
                                .priority = "best-effort",
                                .timeout = std::chrono::seconds(5),
                                .api_server = {.kubeconfig = "/k", .context = "prod"}}));
  EXPECT_EQ(load_limit_options({}, Verb::kGet, "p").value(),
            (LimitOptions{.verb = Verb::kGet, .pod = "p"}));
  EXPECT_EQ(load_limit_options({}, Verb::kList, "").value().ns, "") << "all";
  EXPECT_EQ(load_limit_options({.flags = {{"namespace", "a"}}}, Verb::kList, "").value().ns, "a");
  EXPECT_EQ(load_limit_options({.flags = {{"output", "yaml"}}}, Verb::kGet, "p").value().output,
            LimitOptions::Output::kYaml);
}

TEST(LimitOptions, WhatCannotBe) {
  const struct {
    const char* name;
    Sources sources;
    Verb verb;
    const char* why;
  } cases[] = {
      {"nothing to set", {}, Verb::kSet, "give --memory, --compute or --class"},
      {"values to get", {.flags = {{"memory", "1Gi"}}}, Verb::kGet, "only `set` takes it"},
      {"values to reset", {.flags = {{"class", "normal"}}}, Verb::kReset, "only `set` takes it"},
      {"a container of all", {.flags = {{"container", "c"}}}, Verb::kList, "names a Pod"},
      {"a namespace's", {.flags = {{"namespace", "a"}}}, Verb::kPrune, "about all Nodes"},
      {"values to list", {.flags = {{"memory", "1Gi"}}}, Verb::kList, "only `set` takes it"},
      {"form", {.flags = {{"output", "xml"}}}, Verb::kGet, "write table, json or yaml"},
      {"endless", {.flags = {{"timeout", "infinite"}}}, Verb::kReset, "write a duration"},
  };
  for (const auto& one : cases) {
    const auto options = load_limit_options(one.sources, one.verb, "p");
    ASSERT_FALSE(options) << one.name;
    EXPECT_EQ(options.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(options.error().what, HasSubstr(one.why)) << one.name;
  }
}

}  // namespace
}  // namespace tranche::config::limit_options_test
