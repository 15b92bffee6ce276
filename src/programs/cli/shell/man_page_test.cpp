#include "cli/shell/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/fs.h"
#include "config/flags/flag_table.h"

namespace tranche::cli::man_page_test {
namespace {

using testing::HasSubstr;

const std::filesystem::path kFolder = "docs/man";

std::string committed(const std::string& name) {
  const auto text = FsRoot().read(std::filesystem::current_path() / kFolder / name);
  EXPECT_TRUE(text) << name;
  return text.value_or("");
}

TEST(ManPages, AreAsCommitted) {
  constexpr auto kHint = "write the pages anew with: build/bin/tranche reference --man docs/man";
  std::set<std::string> names{"tranche.1"};
  EXPECT_EQ(man_overview(commands()), committed("tranche.1")) << kHint;
  for (const auto& command : commands()) {
    if (!has_man_page(command)) continue;
    const auto name = "tranche-" + std::string(command.name) + ".1";
    names.insert(name);
    EXPECT_EQ(man_page(command, commands()), committed(name)) << kHint;
  }
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    EXPECT_TRUE(names.contains(entry.path().filename().string()))
        << entry.path() << " is no command's page any more: remove it";
  }
}

TEST(ManPages, HaveEveryFlag) {
  for (const auto& command : commands()) {
    if (!has_man_page(command)) continue;
    const auto page = man_page(command, commands());
    for (const auto& flag : config::flag_table()) {
      if ((flag.uses & command.uses) == 0) continue;
      std::string name = "\\fB\\-\\-";
      for (const char c : flag.name) name += c == '-' ? "\\-" : std::string(1, c);
      EXPECT_THAT(page, HasSubstr(name + "\\fR")) << command.name;
    }
  }
}

TEST(ManPages, TextIsNoRequestAndNoEscape) {
  const Command odd{.name = "odd", .summary = "a\\b ~^` it's"};
  EXPECT_THAT(man_page(odd, {}), HasSubstr("tranche\\-odd \\- a\\eb \\(ti\\(ha\\(ga it\\(aqs\n"));
}

}  // namespace
}  // namespace tranche::cli::man_page_test
