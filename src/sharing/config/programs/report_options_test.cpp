#include "config/programs/report_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::config::report_options_test {
namespace {

using testing::HasSubstr;

TEST(ReportOptions, Defaults) {
  const auto options = load_report_options({});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options, ReportOptions());
}

TEST(ReportOptions, AServiceOfTheController) {
  const auto options = load_report_options(
      {.flags = {{"service", "ns/https:web:9401"}, {"near", "50"}, {"output", "json"}}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options,
            (ReportOptions{
                .output = OutputForm::kJson, .near = 50, .service = {"ns", "https:web:9401"}}));
}

TEST(ReportOptions, WhatContradictsItself) {
  const struct {
    Sources sources;
    const char* said;
  } cases[] = {
      {{.flags = {{"fleet", "f"}, {"snapshot", "s"}}}, "beside a cluster or a snapshot"},
      {{.flags = {{"fleet", "f"}, {"context", "c"}}}, "beside a cluster or a snapshot"},
      {{.flags = {{"fleet", "f"}, {"service", "a/b"}}}, "a file is read, and no controller"},
      {{.flags = {{"service", "web"}}}, "'web' names no Service"},
      {{.flags = {{"service", "a/../b"}}}, "names no Service"},
      {{.flags = {{"near", "0"}}}, "0 is no part of a limit"},
      {{.flags = {{"html", "f"}, {"output", "json"}}}, "an output of its own"},
      {{.flags = {{"output", "xml"}}}, "'xml' is no form"},
  };
  for (const auto& one : cases) {
    const auto refused = load_report_options(one.sources);
    ASSERT_FALSE(refused) << one.said;
    EXPECT_THAT(refused.error().message(), HasSubstr(one.said));
  }
}

}  // namespace
}  // namespace tranche::config::report_options_test
