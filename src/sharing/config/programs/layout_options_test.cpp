#include "config/programs/layout_options.h"

#include <gtest/gtest.h>

#include "config/flags/flag_spec.h"

namespace tranche::config::layout_options_test {
namespace {

using Output = LayoutOptions::Output;

TEST(LayoutOptions, WordsAreProfilesWithTheirNumber) {
  const auto options = load_layout_options(
      {.flags = {{"model", "a100-80gb"}, {"output", "svg"}, {"svg", "x.svg"}}}, kUseLayoutValidate,
      {"3g.40gb=1", "1g.10gb", "1g.10gb=2", "1g.10gb+me=0"});
  ASSERT_TRUE(options) << options.error().message();
  const std::map<std::string, int> devices = {{"3g.40gb", 1}, {"1g.10gb", 3}, {"1g.10gb+me", 0}};
  EXPECT_EQ(options->devices, devices);
  EXPECT_EQ(options->model, "a100-80gb");
  EXPECT_EQ(options->output, Output::kSvg);
  EXPECT_EQ(options->svg_file, "x.svg");
}

TEST(LayoutOptions, OfEachWord) {
  const auto list = load_layout_options({.flags = {{"output", "yaml"}}}, kUseLayoutList, {});
  ASSERT_TRUE(list);
  EXPECT_EQ(list->output, Output::kYaml);
  const auto pack = load_layout_options({.flags = {{"gpus", "4"}, {"output", "parted"}}},
                                        kUseLayoutPack, {"3g.40gb=4"});
  ASSERT_TRUE(pack);
  EXPECT_EQ(pack->gpus, 4);
  EXPECT_EQ(pack->output, Output::kParted);
  const auto show = load_layout_options({.flags = {{"host-root", "/host"}}}, kUseLayoutShow, {});
  ASSERT_TRUE(show);
  EXPECT_EQ(show->host_root, "/host");
  EXPECT_EQ(show->driver_root, "/driver-root");
}

TEST(LayoutOptions, ErrorsAreReported) {
  struct Case {
    const char* name;
    std::vector<FlagValue> flags;
    std::vector<std::string> words;
    const char* says;
  };
  const Case cases[] = {
      {"no number", {}, {"3g.40gb=x"}, "'3g.40gb=x' is no profile with a number"},
      {"no profile", {}, {"=3"}, "'=3' is no profile with a number"},
      {"negative", {}, {"1g.10gb=-1"}, "write a profile and how many of it, such as 1g.10gb=7"},
      {"too many", {}, {"1g.10gb=10001"}, "'1g.10gb=10001': at most 10000 of a profile"},
      {"beyond all numbers", {}, {"1g.10gb=99999999999999999999"}, "at most 10000 of a profile"},
      {"too many in all", {}, {"1g.10gb=10000", "1g.10gb=10000"}, "at most 10000 of a profile"},
      {"form", {{"output", "wide"}}, {"1g.10gb"}, "'wide' is no form"},
      {"GPUs", {{"gpus", "-1"}}, {"1g.10gb"}, "-1 GPUs cannot be"},
  };
  for (const auto& c : cases) {
    const auto options = load_layout_options({.flags = c.flags}, kUseLayoutPack, c.words);
    ASSERT_FALSE(options) << c.name;
    EXPECT_EQ(options.error().code, Code::kInvalidArgument) << c.name;
    EXPECT_NE(options.error().message().find(c.says), std::string::npos)
        << options.error().message();
  }
}

}  // namespace
}  // namespace tranche::config::layout_options_test
