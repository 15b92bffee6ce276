#include "config/programs/layout_file_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/flags/command_line.h"
#include "config/flags/flag_table.h"

namespace tranche::config::layout_file_options_test {
namespace {

using testing::HasSubstr;

Result<LayoutFileOptions> load(unsigned use, std::vector<std::string_view> arguments,
                               std::map<std::string, std::string> environment = {}) {
  const auto parsed = parse_words(arguments, use);
  if (!parsed) return std::unexpected(parsed.error());
  return load_layout_file_options({.flags = parsed->flags, .environment = environment}, use);
}

TEST(LayoutFileOptions, TakeMigPartedsShortFlags) {
  const auto options =
      load(kUseLayoutApply, {"-f", "layouts.yaml", "-c", "all-balanced", "-m", "--yes"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->file, "layouts.yaml");
  EXPECT_EQ(options->layout, "all-balanced");
  EXPECT_TRUE(options->mode_only && options->yes);
  EXPECT_FALSE(options->dry_run || options->force);
  EXPECT_EQ(options->state_dir, "/var/lib/tranche");
}

TEST(LayoutFileOptions, TakeMigPartedsEnvironment) {
  const auto options = load(kUseLayoutAssert, {},
                            {{"MIG_PARTED_CONFIG_FILE", "/etc/layouts.yaml"},
                             {"MIG_PARTED_SELECTED_CONFIG", "all-disabled"},
                             {"MIG_PARTED_MODE_CHANGE_ONLY", "true"},
                             {"MIG_PARTED_VALID_CONFIG", "true"}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->file, "/etc/layouts.yaml");
  EXPECT_EQ(options->layout, "all-disabled");
  EXPECT_TRUE(options->mode_only && options->valid_only);
}

TEST(LayoutFileOptions, ExportHasALabelAndTwoForms) {
  EXPECT_EQ(load(kUseLayoutExport, {})->label, "current");
  EXPECT_EQ(load(kUseLayoutExport, {})->output, OutputForm::kYaml);
  const auto options = load(kUseLayoutExport, {"-l", "mine", "-o", "json"});
  EXPECT_EQ(options->label, "mine");
  EXPECT_EQ(options->output, OutputForm::kJson);
  const auto wrong = load(kUseLayoutDefaults, {"-o", "table"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("write yaml or json"));
}

TEST(LayoutFileOptions, OfANodeOfTheCluster) {
  const auto options =
      load(kUseLayoutApply, {"--node", "gpu-1", "-c", "all-balanced", "--accept-outage",
                             "--no-wait", "--timeout", "1h", "--context", "prod"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->node, "gpu-1");
  EXPECT_TRUE(options->accept_outage && !options->wait);
  EXPECT_EQ(options->timeout, std::chrono::hours(1));
  EXPECT_EQ(options->api_server.context, "prod");
}

TEST(LayoutFileOptions, FlagsForANodeAndForThisMachine) {
  struct Case {
    std::vector<std::string_view> flags;
    const char* wrong;
  };
  const Case cases[] = {
      {{"--node", "gpu-1"}, "no layout is named"},
      {{"--node", "GPU 1", "-c", "x"}, "'GPU 1' is no name of a node"},
      {{"--node", "n", "-c", "x", "-f", "y"}, "the layouts are those of the node's agent"},
      {{"--node", "n", "-c", "x", "--force"}, "it is for this machine"},
      {{"--node", "n", "-c", "x", "--timeout", "0s"}, "somebody waits for the end"},
      {{"--accept-outage"}, "name one: --node"},
      {{"--timeout", "1m"}, "name one: --node"},
      {{"--snapshot", "s", "--dry-run"}, "name one: --node"},
      {{"--snapshot", "s", "--node", "n", "-c", "x"}, "only looked at; add --dry-run"},
      {{"--snapshot", "s", "--node", "n", "-c", "x", "--dry-run", "--context", "y"},
       "it stands beside a cluster"},
  };
  for (const auto& c : cases) {
    const auto options = load(kUseLayoutApply, c.flags);
    ASSERT_FALSE(options) << c.wrong;
    EXPECT_THAT(options.error().message(), HasSubstr(c.wrong));
  }
}

}  // namespace
}  // namespace tranche::config::layout_file_options_test
