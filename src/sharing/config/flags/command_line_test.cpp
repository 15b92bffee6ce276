#include "config/flags/command_line.h"

#include <gtest/gtest.h>

#include "config/flags/flag_table.h"

namespace tranche::config::command_line_test {
namespace {

using Args = std::vector<std::string_view>;

struct Case {
  const char* name;
  Args args;
  ParsedArgs expected;
  unsigned uses = kUseAgent;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class CommandLine : public testing::TestWithParam<Case> {};

TEST_P(CommandLine, Parses) {
  const auto parsed = parse_arguments(GetParam().args, GetParam().uses);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, CommandLine,
    testing::Values(
        Case{"nothing", {}, {}},
        Case{"space", {"--mig-strategy", "single"}, {{{"mig-strategy", "single"}}}},
        Case{"equals", {"--mig-strategy=single"}, {{{"mig-strategy", "single"}}}},
        Case{"one_dash", {"-mig-strategy=single"}, {{{"mig-strategy", "single"}}}},
        Case{"one_dash_space", {"-mig-strategy", "single"}, {{{"mig-strategy", "single"}}}},
        Case{"empty_value", {"--kubelet-socket="}, {{{"kubelet-socket", ""}}}},
        Case{"empty_word", {"--kubelet-socket", ""}, {{{"kubelet-socket", ""}}}},
        Case{"value_with_equals", {"--mps-root=a=b"}, {{{"mps-root", "a=b"}}}},
        Case{"value_like_a_flag", {"--mps-root", "--x"}, {{{"mps-root", "--x"}}}},
        Case{"bool", {"--gds-enabled"}, {{{"gds-enabled", "true"}}}},
        Case{"bool_false", {"--gds-enabled=false"}, {{{"gds-enabled", "false"}}}},
        Case{"bool_takes_no_word",
             {"--gds-enabled", "false"},
             {{{"gds-enabled", "true"}}, {"false"}}},
        Case{"alias", {"--nvidia-driver-root=/d"}, {{{"driver-root", "/d"}}}},
        Case{"repeated",
             {"--device-list-strategy=envvar", "--device-list-strategy", "cdi-cri"},
             {{{"device-list-strategy", "envvar"}, {"device-list-strategy", "cdi-cri"}}}},
        Case{"double_dash_ends",
             {"--gds-enabled", "--", "--mig-strategy"},
             {{{"gds-enabled", "true"}}, {"--mig-strategy"}}},
        Case{"word_ends", {"extra", "--gds-enabled"}, {{}, {"extra", "--gds-enabled"}}},
        Case{"dash_alone_is_a_word", {"-"}, {{}, {"-"}}}, Case{"help", {"--help"}, {.help = true}},
        Case{"h", {"-h"}, {.help = true}}, Case{"version", {"--version"}, {.version = true}},
        Case{"v", {"-v"}, {.version = true}},
        Case{"help_false", {"--help=false", "--gds-enabled"}, {{{"gds-enabled", "true"}}}},
        Case{"help_last_counts", {"--help", "-help=F"}, {}},
        Case{"h_true", {"-h=1"}, {.help = true}}, Case{"version_false", {"--version=0"}, {}},
        Case{"short_flag", {"-o", "/f"}, {{{"output-file", "/f"}}}, kUseFeatureDiscovery},
        Case{"as_the_cloud_has_it",
             {"--mig-strategy=single", "--fail-on-init-error=false", "--pass-device-specs=true"},
             {{{"mig-strategy", "single"},
               {"fail-on-init-error", "false"},
               {"pass-device-specs", "true"}}}}),
    [](const auto& test) { return std::string(test.param.name); });

struct ErrorCase {
  const char* name;
  Args args;
  std::string expected;
  unsigned uses = kUseAgent;
};

void PrintTo(const ErrorCase& c, std::ostream* out) { *out << c.name; }

class CommandLineError : public testing::TestWithParam<ErrorCase> {};

TEST_P(CommandLineError, IsExplained) {
  const auto parsed = parse_arguments(GetParam().args, GetParam().uses);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message(), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, CommandLineError,
    testing::Values(
        ErrorCase{"unknown_near",
                  {"--mig-stratgy=single"},
                  "flag provided but not defined: -mig-stratgy; did you mean --mig-strategy?"},
        ErrorCase{"unknown_far",
                  {"--frobnicate"},
                  "flag provided but not defined: -frobnicate; --help lists the flags there are"},
        ErrorCase{"of_another_program",
                  {"--oneshot"},
                  "flag provided but not defined: -oneshot; --help lists the flags there are"},
        ErrorCase{"output_of_nvidias_labels_alone",
                  {"-o", "yaml"},
                  "flag provided but not defined: -o; --help lists the flags there are",
                  kUseLabels},
        ErrorCase{"missing_value",
                  {"--mps-root"},
                  "flag needs an argument: -mps-root; write --mps-root=value"},
        ErrorCase{
            "help_no_bool",
            {"--help=maybe"},
            "invalid boolean value \"maybe\" for -help: parse error; write it without a value"},
        ErrorCase{"three_dashes",
                  {"---mps-root=x"},
                  "bad flag syntax: ---mps-root=x; write --flag=value"},
        ErrorCase{"no_name", {"--=x"}, "bad flag syntax: --=x; write --flag=value"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ParseWords, TakesFlagsWhereverTheyStand) {
  const Args args = {"-n", "shop", "set", "--memory", "8Gi", "p", "-o=json"};
  const auto parsed = parse_words(args, kUseLimit);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed,
            (ParsedArgs{.flags = {{"namespace", "shop"}, {"memory", "8Gi"}, {"output", "json"}},
                        .positionals = {"set", "p"}}));
  const Args ended = {"set", "--", "-n", "p"};
  EXPECT_EQ(parse_words(ended, kUseLimit).value().positionals,
            (std::vector<std::string>{"set", "-n", "p"}));
  const Args asked = {"set", "p", "--help", "--memry"};
  EXPECT_FALSE(parse_words(asked, kUseLimit));
  EXPECT_TRUE(parse_words(Args{"set", "-h"}, kUseLimit).value().help);
}

TEST(FlagsHelp, NamesEveryFlagOfTheProgramAndNoOther) {
  for (const auto& program : flag_programs()) {
    const auto text = "\n" + flags_help(program.use);
    for (const auto& spec : flag_table()) {
      const auto line = "\n  --" + std::string(spec.name);
      const bool shown = text.find(line + " ") != std::string::npos ||
                         text.find(line + ",") != std::string::npos ||
                         text.find(line + "\n") != std::string::npos;
      // Another program's flag may have this one's alias as its name (--output).
      const auto* known = find_flag(spec.name, program.use);
      EXPECT_EQ(shown, known != nullptr && known->name == spec.name) << spec.name;
    }
  }
}

TEST(FlagsHelp, OfSeveralProgramsHasTheirCommonFlags) {
  const auto text = flags_help(kUseLimit);
  EXPECT_NE(text.find("  --output, -o VALUE\n"), std::string::npos);
  EXPECT_EQ(text.find("  --namespace"), std::string::npos);
}

TEST(FlagsHelp, ShowsDefaultEnvironmentAndAliases) {
  const auto text = flags_help(kUseAgent);
  EXPECT_NE(text.find("  --driver-root, --nvidia-driver-root VALUE\n"), std::string::npos);
  EXPECT_NE(text.find("(default: uuid) [$DEVICE_ID_STRATEGY]"), std::string::npos);
  EXPECT_NE(text.find("  --output-file VALUE\n"), std::string::npos);
  EXPECT_NE(flags_help(kUseFeatureDiscovery).find("  --output-file, --output, -o VALUE\n"),
            std::string::npos);
}

}  // namespace
}  // namespace tranche::config::command_line_test
