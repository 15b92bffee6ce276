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

}  // namespace
}  // namespace tranche::config::layout_file_options_test
