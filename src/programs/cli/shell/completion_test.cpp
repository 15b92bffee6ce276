#include "cli/shell/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "config/flags/flag_table.h"

namespace tranche::cli::completion_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::array kWords = {Word{"now", "at once"}, Word{"later", "it's not urgent"}};
constexpr std::array kSome = {
    Command{.name = "arbiter",
            .summary = "hold this node's containers to their limits",
            .uses = config::kUseArbiter},
    Command{.name = "limit", .summary = "set limits", .uses = config::kUseLimit},
    Command{.name = "wait", .summary = "wait", .words = kWords},
    Command{.name = "secret", .summary = "not told", .listed = false},
};

struct Shell {
  const char* name;
  std::string (*script)(std::span<const Command>);
  std::string dashes;  // before a long flag
};

void PrintTo(const Shell& shell, std::ostream* out) { *out << shell.name; }

class Completion : public testing::TestWithParam<Shell> {};

TEST_P(Completion, KnowsEveryCommandAndEveryFlag) {
  const auto script = GetParam().script(commands());
  for (const auto& command : commands()) {
    if (!command.listed) continue;
    EXPECT_THAT(script, HasSubstr(std::string(command.name)));
    for (const auto& word : command.words) {
      EXPECT_THAT(script, HasSubstr(std::string(word.name)));
    }
    for (const auto& flag : config::flag_table()) {
      if ((flag.uses & command.uses) == 0) continue;
      EXPECT_THAT(script, HasSubstr(GetParam().dashes + std::string(flag.name))) << command.name;
    }
  }
}

TEST_P(Completion, KnowsChoicesAndWords) {
  const auto script = GetParam().script(kSome);
  EXPECT_THAT(script, HasSubstr("debug info warn error"));
  EXPECT_THAT(script, HasSubstr("table json yaml"));
  EXPECT_THAT(script, HasSubstr("later"));
  EXPECT_THAT(script, Not(HasSubstr("secret")));
  EXPECT_THAT(script, HasSubstr("kubectl-tranche"));
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion,
                         testing::Values(Shell{"bash", bash_completion, "--"},
                                         Shell{"zsh", zsh_completion, "--"},
                                         Shell{"fish", fish_completion, "-l "}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(CompletionFor, KnowsThreeShells) {
  EXPECT_EQ(completion_for("bash", kSome), bash_completion(kSome));
  EXPECT_EQ(completion_for("zsh", kSome), zsh_completion(kSome));
  EXPECT_EQ(completion_for("fish", kSome), fish_completion(kSome));
  for (const auto* name : {"", "sh", "Bash", "powershell", "bash "}) {
    EXPECT_EQ(completion_for(name, kSome), std::nullopt) << name;
  }
}

TEST(ZshCompletion, QuotesWhatZshTakesForItsOwn) {
  const auto script = zsh_completion(kSome);
  EXPECT_THAT(script, HasSubstr("node'\\''s containers"));
  EXPECT_THAT(script, HasSubstr("each of its devices\\: a quantity"));
}

TEST(FishCompletion, QuotesApostrophes) {
  EXPECT_THAT(fish_completion(kSome), HasSubstr("'it\\'s not urgent'"));
}

}  // namespace
}  // namespace tranche::cli::completion_test
