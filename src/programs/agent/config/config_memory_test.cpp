#include "agent/config/config_memory.h"

#include <gtest/gtest.h>

#include "base/envelope.h"
#include "config/file/load.h"
#include "support/synced.h"
#include "support/temp_dir.h"

namespace tranche::agent::config_memory_test {
namespace {

const ConfigChoice kChoice = {.origin = "ConfigMap kube-system/x, key l20",
                              .text = "version: v1\n# \"quoted\" \xf0\x9f\x98\x80\n",
                              .name = "kube-system/x:l20",
                              .mig_strategy = "mixed"};

TEST(ConfigMemory, GivesBackWhatWasKept) {
  const test::TempDir dir;
  const ConfigMemory memory(dir.path());
  const auto nothing = memory.load();
  ASSERT_TRUE(nothing);
  EXPECT_EQ(*nothing, std::nullopt);
  ASSERT_TRUE(memory.store(kChoice));
  EXPECT_EQ(*memory.load(), kChoice);
  const ConfigChoice empty = {.origin = "none", .text = std::nullopt, .name = ""};
  ASSERT_TRUE(memory.store(empty));
  EXPECT_EQ(*memory.load(), empty);
}

TEST(ConfigMemory, AStrategyOfAPolicyIsNamedAsThePolicys) {
  const config::Sources own{.environment = {{"MIG_STRATEGY", "none"}, {"X", "y"}}};
  const ConfigChoice choice = {.text = std::nullopt, .name = "", .mig_strategy = "double"};
  const auto loaded = load_choice(choice, own);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().what.find("double (ClusterPolicy spec.mig.strategy)"), std::string::npos)
      << loaded.error().what;
  EXPECT_TRUE(load_choice({.text = std::nullopt, .name = ""}, own));
}

// A power cut right after it leaves this configuration or the one before, whole.
TEST(ConfigMemory, WhatIsKeptIsOnTheDisk) {
  const test::TempDir dir;
  test::synced.clear();
  ASSERT_TRUE(ConfigMemory(dir.path()).store(kChoice));
  EXPECT_EQ(test::synced, (std::vector<std::string>{"file", "folder"}));
}

TEST(ConfigMemory, WhatIsTornOrEditedIsRefused) {
  const test::TempDir dir;
  const FsRoot fs;
  const ConfigMemory memory(dir.path());
  ASSERT_TRUE(memory.store(kChoice));
  const auto file = dir.path() / "config.json";
  const auto text = *fs.read(file);
  for (const auto& bad : {text.substr(0, text.size() / 2), std::string("[]"), std::string("{}"),
                          std::string(text).replace(text.find("l20"), 3, "t40")}) {
    ASSERT_TRUE(fs.write_atomic(file, bad));
    const auto loaded = memory.load();
    ASSERT_FALSE(loaded) << bad;
    EXPECT_EQ(loaded.error().code, Code::kInvalidArgument);
    EXPECT_NE(loaded.error().what.find(file.string()), std::string::npos);
  }
}

TEST(ConfigMemory, AFieldThatIsNotAsItMustBeIsNamed) {
  const test::TempDir dir;
  const FsRoot fs;
  const ConfigMemory memory(dir.path());
  const auto file = dir.path() / "config.json";
  const std::pair<const char*, const char*> cases[] = {
      {R"({"migStrategy":null,"name":"","origin":"none"})", "text is missing"},
      {R"({"migStrategy":7,"name":"","origin":"none","text":null})",
       "migStrategy is a number where a text is expected"},
      {R"({"migStrategy":null,"name":null,"origin":"none","text":null})",
       "name is null where a text is expected"}};
  for (const auto& [body, why] : cases) {
    ASSERT_TRUE(
        fs.write_atomic(file, seal({.version = "config-choice/v1", .key = "choice"}, body)));
    const auto loaded = memory.load();
    ASSERT_FALSE(loaded) << body;
    EXPECT_EQ(loaded.error().what, file.string() + ": torn or not config-choice/v1: " + why);
  }
}

}  // namespace
}  // namespace tranche::agent::config_memory_test
