#include "cli/shell/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::cli::help_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CommandHelp, GroupsCommandsAndLeavesEmptyGroupsOut) {
  const Command some[] = {
      {.name = "mend", .summary = "change one thing", .group = Group::kChange},
      {.name = "serve", .summary = "run", .group = Group::kProcesses},
      {.name = "break", .summary = "change two", .group = Group::kChange},
      {.name = "secret", .summary = "", .listed = false},
  };
  const auto text = command_help(some);
  EXPECT_THAT(text, HasSubstr("\nProcesses of a node and a cluster:\n"
                              "  serve              run\n\nChange:\n"
                              "  mend               change one thing\n"
                              "  break              change two\n\n'tranche help COMMAND'"));
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

TEST(HelpOf, ShowsCommonFlagsForTheCommandAndOthersForTheWord) {
  const auto& limit = *find_command(commands(), "limit");
  const auto whole = help_of(limit, nullptr, "tranche limit");
  EXPECT_THAT(whole, testing::StartsWith("Usage: tranche limit set|get|reset POD | list | prune "
                                         "[flags]\n\nSet the limits of a container that runs.\n"
                                         "\nCommands:\n  set    change the limits"));
  EXPECT_THAT(whole, HasSubstr("\nFlags of all of them:\n  --kubeconfig VALUE\n"));
  EXPECT_THAT(whole, Not(HasSubstr("  --memory VALUE")));
  const auto set = help_of(limit, find_word(limit, "set"), "kubectl tranche limit");
  EXPECT_THAT(set, testing::StartsWith("Usage: kubectl tranche limit set POD [flags]\n"));
  EXPECT_THAT(set, HasSubstr("\n  kubectl tranche limit set trainer --memory 8Gi\n"));
  EXPECT_THAT(set, HasSubstr("\nFlags:\n"));
  EXPECT_THAT(set, HasSubstr("\n  --memory VALUE\n"));
}

TEST(HelpOf, ExplainsPrecedenceIfThereAreOtherSources) {
  const auto text = [](const char* name) {
    const auto& command = *find_command(commands(), name);
    return help_of(command, nullptr, std::string("tranche ") + name);
  };
  EXPECT_THAT(text("agent"), HasSubstr("variable ($), that over the configuration file.\n"));
  EXPECT_THAT(text("arbiter"), HasSubstr("A flag wins over its environment variable ($).\n"));
  EXPECT_THAT(text("completion"), Not(HasSubstr("wins over")));
}

TEST(Suggestion, NamesTheNearestWordElseWhatToDo) {
  const std::string_view known[] = {"agent", "arbiter"};
  EXPECT_EQ(suggestion("agnt", known, "look"), "; did you mean \"agent\"?");
  EXPECT_EQ(suggestion("frobnicate", known, "look"), "; look");
}

}  // namespace
}  // namespace tranche::cli::help_test
