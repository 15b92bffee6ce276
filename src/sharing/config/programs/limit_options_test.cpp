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
      {"values to get",
       {.flags = {{"memory", "1Gi"}}},
       Verb::kGet,
       "flag --memory: this command does not know it; 'tranche limit set' takes it"},
      {"values to reset",
       {.flags = {{"class", "normal"}}},
       Verb::kReset,
       "'tranche limit set' takes it"},
      {"a container of all",
       {.flags = {{"container", "c"}}},
       Verb::kList,
       "'tranche limit set' and 'tranche limit get' and 'tranche limit reset' take it"},
      {"a namespace's", {.flags = {{"namespace", "a"}}}, Verb::kPrune, "does not know it"},
      {"no memory",
       {.flags = {{"memory", "8Gx"}}},
       Verb::kSet,
       "flag --memory: '8Gx' is no amount of memory; write a quantity, a"},
      {"nothing as memory", {.flags = {{"memory", ""}}}, Verb::kSet, "flag --memory: '' is no"},
      {"equal memory", {.flags = {{"memory", "equal"}}}, Verb::kSet, "write a quantity"},
      {"no share", {.flags = {{"compute", "300%"}}}, Verb::kSet, "flag --compute: '300%'"},
      {"no class", {.flags = {{"class", "high"}}}, Verb::kSet, "flag --class: 'high' is no class"},
      {"a class misspelt",
       {.flags = {{"class", "best-efort"}}},
       Verb::kSet,
       "did you mean \"best-effort\"?"},
      {"no namespace", {.flags = {{"namespace", "A/"}}}, Verb::kGet, "flag --namespace: 'A/'"},
      {"no resource", {.flags = {{"resource", "gpu_1"}}}, Verb::kGet, "flag --resource: 'gpu_1'"},
      {"no claim",
       {.flags = {{"resource", "claim/half/a/b"}}},
       Verb::kGet,
       "flag --resource: 'claim/half/a/b'"},
      {"form misspelt", {.flags = {{"output", "jsn"}}}, Verb::kGet, "did you mean \"json\"?"},
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

TEST(LimitOptions, PodsAreNamedAsKubectlNamesThem) {
  for (const auto* name : {"p", "pod/p", "pods/p"}) {
    const auto options = load_limit_options({}, Verb::kGet, name);
    ASSERT_TRUE(options) << options.error().message();
    EXPECT_EQ(options->pod, "p");
  }
  for (const auto* name : {"", "P_1", "deployment/p", "pod/", "a..b"}) {
    const auto options = load_limit_options({}, Verb::kGet, name);
    ASSERT_FALSE(options) << name;
    EXPECT_THAT(options.error().what, HasSubstr("is no name of a Pod"));
  }
}

}  // namespace
}  // namespace tranche::config::limit_options_test
