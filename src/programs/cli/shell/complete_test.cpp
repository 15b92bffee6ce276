#include "cli/shell/complete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::cli::complete_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

using Texts = std::vector<std::string>;

Texts offered(const std::vector<std::string_view>& words) {
  Texts texts;
  for (auto& one : complete(commands(), words).candidates) texts.push_back(std::move(one.text));
  return texts;
}

TEST(Complete, OffersCommandsWordsAndFlags) {
  EXPECT_THAT(offered({""}), IsSupersetOf(Texts{"agent", "limit", "help"}));
  EXPECT_THAT(offered({""}), Not(Contains("reference")));
  EXPECT_THAT(offered({"ag"}), ElementsAre("agent"));
  EXPECT_THAT(offered({"limit", ""}), ElementsAre("set", "get", "reset", "list", "prune"));
  EXPECT_THAT(offered({"limit", "-n", "shop", "re"}), ElementsAre("reset"));
  EXPECT_THAT(offered({"limit", "set", "p", "--me"}), ElementsAre("--memory"));
  EXPECT_THAT(offered({"limit", "get", "p", "--me"}), IsEmpty());
  EXPECT_THAT(offered({"limit", "set", ""}), IsEmpty()) << "Pods are not asked for";
  EXPECT_THAT(offered({"help", "limit", "pr"}), ElementsAre("prune"));
  EXPECT_THAT(offered({"nothing", ""}), IsEmpty());
  EXPECT_THAT(offered({"reference", "-"}), IsEmpty());
}

TEST(Complete, OffersValues) {
  EXPECT_THAT(offered({"limit", "get", "-o", "j"}), ElementsAre("json"));
  EXPECT_THAT(offered({"limit", "get", "--output=y"}), ElementsAre("--output=yaml"));
  EXPECT_THAT(offered({"agent", "--device-list-strategy", "envvar,v"}),
              ElementsAre("envvar,volume-mounts"));
  EXPECT_THAT(offered({"cleanup", "--check", "--st"}), ElementsAre("--state-dir", "--stay"));
  EXPECT_EQ(complete(commands(), std::vector<std::string_view>{"agent", "--config-file", ""}),
            (Completions{{}, Directive::kFiles}));
  EXPECT_EQ(complete(commands(), std::vector<std::string_view>{"agent", "--state-dir", ""}),
            (Completions{{}, Directive::kFolders}));
  EXPECT_EQ(complete(commands(), std::vector<std::string_view>{"agent", "--pod-name", ""}),
            Completions());
}

TEST(Complete, IsWrittenAsKubectlReadsIt) {
  EXPECT_EQ(to_text({{{"set", "change"}, {"json", ""}}, Directive::kNoFiles}),
            "set\tchange\njson\n:4\n");
}

}  // namespace
}  // namespace tranche::cli::complete_test
