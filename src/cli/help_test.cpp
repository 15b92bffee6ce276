#include "cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::cli::help_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CommandHelp, GroupsCommandsAndLeavesEmptyGroupsOut) {
  const Command some[] = {
      {.name = "mend", .summary = "change one thing", .run = nullptr, .group = Group::kChange},
      {.name = "serve", .summary = "run", .run = nullptr, .group = Group::kProcesses},
      {.name = "break", .summary = "change two", .run = nullptr, .group = Group::kChange},
      {.name = "secret", .summary = "", .run = nullptr, .listed = false},
  };
  const auto text = command_help(some);
  EXPECT_THAT(text, HasSubstr("\nProcesses of a node and a cluster:\n"
                              "  serve              run\n\nChange:\n"
                              "  mend               change one thing\n"
                              "  break              change two\n\n'tranche"));
  EXPECT_THAT(text, Not(HasSubstr("Look:")));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
}

TEST(CommandHelp, EveryListedCommandStandsInOneGroup) {
  const auto text = command_help(commands());
  for (const auto& command : commands()) {
    const auto line = "\n  " + std::string(command.name) + " ";
    const auto first = text.find(line);
    EXPECT_EQ(first != std::string::npos, command.listed) << command.name;
    if (command.listed) {
      EXPECT_EQ(text.find(line, first + 1), std::string::npos) << command.name;
    }
  }
}

}  // namespace
}  // namespace tranche::cli::help_test
