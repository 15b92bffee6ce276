#include "config/programs/flag_sections.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace tranche::config::flag_sections_test {
namespace {

const FlagSection& section(const std::vector<FlagSection>& all, std::string_view title) {
  const auto found = std::ranges::find(all, title, &FlagSection::title);
  EXPECT_NE(found, all.end()) << title;
  return *found;
}

const FlagSpec* flag_of(const FlagSection& section, std::string_view name) {
  const auto found = std::ranges::find(section.flags, name, &FlagSpec::name);
  return found == section.flags.end() ? nullptr : *found;
}

TEST(FlagSections, EveryFlagStandsOnce) {
  std::map<const FlagSpec*, int> times;
  for (const auto& one : flag_sections()) {
    EXPECT_FALSE(one.flags.empty()) << one.title;
    for (const auto* spec : one.flags) ++times[spec];
  }
  for (const auto& spec : flag_table()) EXPECT_EQ(times[&spec], 1) << spec.name;
  EXPECT_EQ(times.size(), flag_table().size());
}

TEST(FlagSections, AFlagOfOneProgramStandsWithIt) {
  const auto all = flag_sections();
  EXPECT_NE(flag_of(section(all, "Agent"), "take-over"), nullptr);
  EXPECT_NE(flag_of(section(all, "Limit"), "memory"), nullptr);
  EXPECT_EQ(flag_of(section(all, "Agent"), "log-level"), nullptr);
  EXPECT_NE(flag_of(section(all, "Several programs"), "log-level"), nullptr);
}

struct Case {
  const char* name;
  const char* section;
  const char* flag;
  const char* users;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Users : public testing::TestWithParam<Case> {};

TEST_P(Users, AreToldAsBrieflyAsCanBe) {
  const auto all = flag_sections();
  const auto& one = section(all, GetParam().section);
  const auto* spec = flag_of(one, GetParam().flag);
  ASSERT_NE(spec, nullptr);
  EXPECT_EQ(users(*spec, one), GetParam().users);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, Users,
    testing::Values(Case{"nothing_for_one_program", "Agent", "take-over", ""},
                    Case{"words_of_a_command", "Limit", "timeout", "set, reset"},
                    Case{"one_word", "Layout", "dry-run", "apply"},
                    Case{"programs", "Several programs", "cdi-root", "agent, cleanup"},
                    Case{"a_command_with_all_its_words", "Several programs", "output",
                         "limit, layout list, lint, doctor, incident, top, report, version"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(FlagSections, AnAnchorIsThatOfTheHeading) {
  EXPECT_EQ(anchor_of({.title = "Several programs", .of = ""}), "several-programs");
  EXPECT_EQ(anchor_of({.title = "MPS control daemons", .of = ""}), "mps-control-daemons");
}

}  // namespace
}  // namespace tranche::config::flag_sections_test
