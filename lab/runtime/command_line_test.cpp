#include "lab/runtime/command_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace tranche::lab::command_line_test {
namespace {

using Words = std::vector<std::string_view>;

TEST(CommandLine, AsContainerdCalls) {
  const Words words = {"--root", "/run/r",   "--log", "/b/log.json", "--log-format", "json",
                       "create", "--bundle", "/b",    "--pid-file",  "/b/init.pid",  "id"};
  const auto call = read_command_line(words);
  EXPECT_EQ(call.command, "create");
  EXPECT_EQ(call.bundle, "/b");
  EXPECT_EQ(call.log, "/b/log.json");
  EXPECT_TRUE(call.makes_container());
}

TEST(CommandLine, WithEqualsAndAShortFlag) {
  const Words words = {"--log=/l", "--debug", "run", "-b", "/b", "id"};
  const auto call = read_command_line(words);
  EXPECT_EQ(call.command, "run");
  EXPECT_EQ(call.bundle, "/b");
  EXPECT_EQ(call.log, "/l");
}

TEST(CommandLine, AContainerMayBeCalledCreate) {
  const Words words = {"--root", "create", "start", "create"};
  const auto call = read_command_line(words);
  EXPECT_EQ(call.command, "start");
  EXPECT_FALSE(call.makes_container());
}

TEST(CommandLine, Nothing) {
  const auto call = read_command_line({});
  EXPECT_EQ(call.command, "");
  EXPECT_EQ(call.bundle, ".");
}

}  // namespace
}  // namespace tranche::lab::command_line_test
