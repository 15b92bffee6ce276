// Every invalid configuration: the message names file, line, field and remedy.

#include <gtest/gtest.h>

#include "config/file/load.h"
#include "config/file/refused_testing.h"
#include "config/file/source.h"

namespace tranche::config::load_invalid_test {
namespace {

using refused_testing::Case;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start <= text.size()) {
    const auto end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

class Invalid : public testing::TestWithParam<Case> {};

TEST_P(Invalid, IsRefusedWithPlaceAndRemedy) {
  const auto loaded = load({.file_text = GetParam().text, .file_name = "f.yaml"});
  ASSERT_FALSE(loaded) << loaded->json;
  EXPECT_EQ(loaded.error().code, GetParam().code);
  const auto lines = lines_of(loaded.error().what);
  ASSERT_EQ(lines.size(), GetParam().errors.size()) << loaded.error().what;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].starts_with(GetParam().errors[i])) << lines[i];
    EXPECT_NE(lines[i].find("; "), std::string::npos) << "no remedy in: " << lines[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Invalid, testing::ValuesIn(refused_testing::types()),
                         [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(SharingRules, Invalid, testing::ValuesIn(refused_testing::sharing_rules()),
                         [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(Values, Invalid, testing::ValuesIn(refused_testing::values()),
                         [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(Promises, Invalid, testing::ValuesIn(refused_testing::promises()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Invalid, BrokenYamlNamesTheLine) {
  for (const auto* text : {"flags:\n  plugin: [", "flags:\n\t- x", "a: b: c", "flags: *nowhere"}) {
    const auto loaded = load({.file_text = text, .file_name = "f.yaml"});
    ASSERT_FALSE(loaded) << text;
    EXPECT_TRUE(loaded.error().what.starts_with("f.yaml:")) << loaded.error().what;
  }
}

TEST(Invalid, TooLongInputIsRefused) {
  const auto loaded = load({.file_text = std::string(kMaxConfigBytes + 1, '#'), .file_name = "f"});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message(),
            "f: 1048577 bytes are too many; a configuration is a file of at most 1 MiB");
}

// Some device can keep these promises: the offer says which.
TEST(Promises, ThatDependOnTheDeviceAreTaken) {
  for (const auto* limits :
       {"enforcement: elastic, memory: 8Gi, memoryHard: 50%",
        "enforcement: elastic, memoryHard: 10%", "enforcement: strict, memory: 25%, compute: 25%",
        "enforcement: strict, memory: 64Gi",
        "enforcement: strict, memory: 30%, oversubscribe: true",
        "enforcement: account, memory: 30%", "enforcement: elastic, memory: 4Gi, memoryHard: 4Gi",
        "enforcement: strict, memory: 8Gi, memoryHard: 4Gi",
        "enforcement: strict, memory: 30%, resources: [{name: gpu, memory: 10%}]"}) {
    const auto text =
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n"
        "tranche: {limits: {" +
        std::string(limits) + "}}";
    const auto loaded = load({.file_text = text, .file_name = "f"});
    EXPECT_TRUE(loaded) << limits << ": " << loaded.error().what;
  }
}

TEST(Invalid, ManyErrorsAreCounted) {
  std::string text = "sharing:\n  timeSlicing:\n    resources:\n";
  for (int i = 0; i < 500; ++i) text += "    - {name: gpu}\n";
  const auto loaded = load({.file_text = text, .file_name = "f.yaml"});
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().what.ends_with("and 450 more errors"));
}

TEST(Invalid, HugeFileOfUnknownKeysIsRead) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  const auto loaded = load({.file_text = text, .file_name = "f.yaml"});
  ASSERT_TRUE(loaded) << loaded.error().what;
  EXPECT_EQ(loaded->config, Config{});
  ASSERT_EQ(loaded->warnings.size(), 51U);
  EXPECT_EQ(loaded->warnings.back().message, "and 19950 more warnings");
}

class Strict : public testing::TestWithParam<Case> {};

TEST_P(Strict, RefusesWhatIsSuspicious) {
  Sources sources{.file_text = GetParam().text, .file_name = "f.yaml"};
  ASSERT_TRUE(load(sources));
  const auto check = [](const Result<Loaded>& loaded, const std::string& expected) {
    ASSERT_FALSE(loaded);
    EXPECT_TRUE(loaded.error().what.starts_with(expected)) << loaded.error().what;
  };
  sources.strict = true;
  check(load(sources), GetParam().errors[0]);
  sources.strict = false;
  sources.flags = {{"strict-config", "true"}};
  check(load(sources), GetParam().errors[0]);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, Strict,
    testing::Values(Case{"unknown",
                         "flags: {migStrategie: single}",
                         {"f.yaml:1: flags.migStrategie: unknown key; did you mean"}},
                    Case{
                        "unknown_of_ours", "tranche: {x: 1}", {"f.yaml:1: tranche.x: unknown key"}},
                    Case{"another_document",
                         "version: v1\n---\nsharing: {}\n---\n",
                         {"f.yaml:3: another document begins here; write one configuration"}},
                    Case{"duplicate",
                         "version: v1\nversion: v1\n",
                         {"f.yaml:2: version: duplicate key, also in line 1; remove one"}},
                    Case{"two_spellings",
                         "version: v1\nVersion: v1\n",
                         {"f.yaml:2: Version: the same key as 'version' in line 1; remove one"}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tranche::config::load_invalid_test
