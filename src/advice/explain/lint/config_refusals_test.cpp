// lint reports the same about a configuration as the agent at its start: both call config::load().
// This test checks it for each refused configuration of the tree.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/file/load.h"
#include "config/file/refused_testing.h"
#include "explain/lint/config_files.h"
#include "explain/lint/testing.h"

namespace tranche::lint::config_refusals_test {
namespace {

using config::refused_testing::Case;
using testing_::lint_one;

// The agent's errors, deployed as by the chart.
Result<config::Loaded> agent_says(const std::string& text) {
  return config::load(
      {.file_text = text, .file_name = "f.yaml", .defaults = {{"mps-root", "/run/nvidia/mps"}}});
}

bool is_known(const std::string& text) {
  const auto document = yaml::parse(text, "f.yaml");
  return document && kind_of_file(document->root) == FileKind::kConfig;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The messages, one in each line except for line ends shown from the file.
std::vector<std::string> messages_of(const std::string& text) {
  std::vector<std::string> messages;
  for (const auto& line : lines_of(text)) {
    if (line.starts_with(' ') || line.starts_with('(')) {
      messages.back() += line;
    } else {
      messages.push_back(line);
    }
  }
  return messages;
}

std::vector<Finding> errors_of(const FileResult& result) {
  auto errors = result.findings;
  std::erase_if(errors, [](const Finding& one) { return one.level != Level::kError; });
  return errors;
}

// Whether a finding has the place and words of the agent's message.
bool says(const Finding& finding, const std::string& message) {
  const auto place = fmt::format("f.yaml:{}", finding.line);
  const bool placed =
      message.find("f.yaml") == std::string::npos || message.find(place + ":") != std::string::npos;
  return placed && message.find(finding.path) != std::string::npos &&
         message.find(finding.what) != std::string::npos &&
         message.find(finding.fix) != std::string::npos;
}

// The agent and lint report the same errors.
void expect_same_words(const std::string& text, const std::string& message) {
  const auto errors = errors_of(lint_one(text));
  const auto lines = messages_of(message);
  EXPECT_EQ(errors.size(), lines.size()) << text << "\n" << message;
  for (const auto& line : lines) {
    EXPECT_TRUE(std::ranges::any_of(errors, [&](const Finding& one) { return says(one, line); }))
        << text << "\nlint does not say: " << line;
  }
}

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, IsAnErrorOfLintInTheSameWords) {
  const auto& text = GetParam().text;
  const auto loaded = agent_says(text);
  if (loaded) {
    EXPECT_STREQ(GetParam().name, "mps_without_root") << "the chart names the folder";
    EXPECT_TRUE(errors_of(lint_one(text)).empty());
  } else if (is_known(text)) {
    expect_same_words(text, loaded.error().message());
  } else {
    // It is impossible to know that this should be a configuration.
    EXPECT_FALSE(errors_of(lint_one(text)).empty()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Refused, testing::ValuesIn(config::refused_testing::all()),
                         [](const auto& test) {
                           return fmt::format("{}_{}", test.param.name, test.index);
                         });

// The same in a ConfigMap's key, where the agent on a cluster reads it.
TEST(RefusedInAConfigMap, IsAnErrorToo) {
  for (const auto& one : config::refused_testing::all()) {
    if (agent_says(one.text) || !is_known(one.text)) continue;
    std::string map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: configs}\ndata:\n  a: |\n";
    for (const auto& line : lines_of(one.text)) map += "    " + line + "\n";
    const auto alone = errors_of(lint_one(one.text));
    const auto inside = errors_of(lint_one(map));
    ASSERT_EQ(inside.size(), alone.size()) << one.name;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(inside[i].what, alone[i].what) << one.name;
      EXPECT_EQ(inside[i].line, alone[i].line + 5) << one.name;
    }
  }
}

// Every file of these folders that may be a configuration.
std::vector<std::filesystem::path> files_of_the_tree() {
  std::vector<std::filesystem::path> files;
  for (const auto* folder :
       {"tests/fuzz/corpus/config_fuzz", "tests/fuzz/corpus/lint_fuzz", "tests/data/lint",
        "tests/data/reports", "tests/data/scenarios", "src/sharing/config/file/testdata"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

TEST(FilesOfTheTree, LintRefusesWhatTheAgentRefuses) {
  std::size_t refused = 0;
  std::size_t taken = 0;
  for (const auto& path : files_of_the_tree()) {
    std::ifstream file(path);
    std::stringstream stream;
    stream << file.rdbuf();
    const auto text = stream.str();
    const auto loaded = agent_says(text);
    if (!is_known(text)) continue;
    SCOPED_TRACE(path);
    if (loaded) {
      ++taken;
      EXPECT_TRUE(errors_of(lint_one(text)).empty());
    } else {
      ++refused;
      expect_same_words(text, loaded.error().message());
    }
  }
  EXPECT_GE(refused, 4U);
  EXPECT_GE(taken, 20U);
}

}  // namespace
}  // namespace tranche::lint::config_refusals_test
