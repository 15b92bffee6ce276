#include "cluster/formats/limit_settings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace tranche::cluster::limit_settings_test {
namespace {

using testing::HasSubstr;

LimitSetting setting() {
  return {.ns = "shop",
          .pod = "train-0",
          .uid = "0f8fad5b-d9cb-469f-a165-70867728950e",
          .container = "main",
          .resource = "nvidia.com/gpu.shared",
          .memory = "8Gi",
          .compute = "30%",
          .priority = "best-effort"};
}

LimitOutcome outcome() {
  return {.setting = setting(),
          .state = LimitOutcome::State::kHolds,
          .message = "in force",
          .devices = {{.uuid = "GPU-0a", .memory_bytes = 8ULL << 30U, .permille = 300}}};
}

// The samples that the schemas are held to (tests/e2e/test_schemas.py).
TEST(LimitSettings, AreWrittenAsTheSamples) {
  const auto sample = [](const std::string& name) {
    std::ifstream file("tests/data/" + name);
    return nlohmann::json::parse(file);
  };
  const auto settings = sample("limit-settings-v1.json");
  EXPECT_EQ(decode_limit_settings(settings.dump()).value(), std::vector{setting()});
  EXPECT_EQ(nlohmann::json::parse(encode(std::vector{setting()})), settings);
  const auto status = sample("limit-status-v1.json");
  EXPECT_EQ(decode_limit_outcomes(status.dump()).value(), std::vector{outcome()});
  EXPECT_EQ(nlohmann::json::parse(encode(std::vector{outcome()})), status);
}

TEST(LimitSettings, WhatIsNotSetIsLeftOut) {
  auto only = setting();
  only.memory.clear();
  only.priority.clear();
  const auto text = encode(std::vector{only});
  EXPECT_THAT(text, testing::Not(HasSubstr("memory")));
  EXPECT_EQ(decode_limit_settings(text).value(), std::vector{only});
  const LimitOutcome waits{.setting = only};
  EXPECT_EQ(decode_limit_outcomes(encode(std::vector{waits})).value(), std::vector{waits});
}

TEST(LimitSettings, AnOutcomeSaysWhoseItIs) {
  auto annotated = outcome();
  annotated.by = LimitOutcome::By::kAnnotations;
  const auto text = encode(std::vector{annotated, outcome()});
  EXPECT_EQ(decode_limit_outcomes(text).value(), (std::vector{annotated, outcome()}));
}

TEST(LimitSettings, OneIsAboutAResourceOfAContainer) {
  auto other = setting();
  other.memory = "1Gi";
  other.pod = "renamed";
  EXPECT_TRUE(setting().is_about(other));
  other.container = "side";
  EXPECT_FALSE(setting().is_about(other));
  EXPECT_FALSE(setting().is_empty());
  EXPECT_TRUE(LimitSetting{}.is_empty());
}

TEST(LimitSettings, WhatCannotBeOneIsRefused) {
  const auto with = [](LimitSetting changed) { return encode(std::vector{std::move(changed)}); };
  auto no_uid = setting();
  no_uid.uid.clear();
  auto odd_name = setting();
  odd_name.pod = "a b";
  auto long_value = setting();
  long_value.memory = std::string(41, '1');
  auto space = setting();
  space.compute = "3 0%";
  const struct {
    const char* name;
    std::string text;
    std::string why;
  } cases[] = {
      {"no JSON", "{", ""},
      {"the other format", encode(std::vector{outcome()}), "not limit-settings/v1"},
      {"too many", encode(std::vector(LimitSetting::kMostEntries + 1, LimitSetting(setting()))),
       "129 settings are too many"},
      {"too long", std::string(LimitSetting::kLongest + 1, ' '), "bytes are too many"},
      {"no uid", with(no_uid), "settings[0].uid"},
      {"a space in a name", with(odd_name), "settings[0].pod"},
      {"a long value", with(long_value), "settings[0].memory"},
      {"a space in a value", with(space), "settings[0].compute"},
  };
  for (const auto& one : cases) {
    const auto read = decode_limit_settings(one.text);
    ASSERT_FALSE(read) << one.name;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(read.error().what, HasSubstr(one.why)) << one.name;
  }
  for (const auto* const key : {"memoryBytes", "permille"}) {
    auto negative = nlohmann::json::parse(encode(std::vector{outcome()}));
    negative["settings"][0]["devices"][0][key] = -1;
    const auto out_of_range = decode_limit_outcomes(negative.dump());
    ASSERT_FALSE(out_of_range);
    EXPECT_THAT(out_of_range.error().what, HasSubstr(std::string("devices[0].") + key));
  }
  auto unknown = nlohmann::json::parse(encode(std::vector{outcome()}));
  unknown["settings"][0]["state"] = "perhaps";
  const auto read = decode_limit_outcomes(unknown.dump());
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr("settings[0].state"));
}

// The most that can be: 128 settings with the longest names of Kubernetes, on 16 GPUs each.
TEST(LimitSettings, AnAnswerThatWouldBeTooLongGoesWithoutDevices) {
  auto longest = outcome();
  longest.setting.ns = std::string(63, 'n');
  longest.setting.pod = std::string(253, 'p');
  longest.setting.container = std::string(63, 'c');
  longest.setting.resource = std::string(253, 'd') + "/" + std::string(63, 'r');
  for (auto* const value :
       {&longest.setting.memory, &longest.setting.compute, &longest.setting.priority}) {
    *value = std::string(40, 'v');
  }
  longest.message = std::string(2000, 'm');
  longest.devices = std::vector(16, longest.devices.front());
  const auto text = encode(std::vector(LimitSetting::kMostEntries, longest));
  EXPECT_LE(text.size(), LimitOutcome::kLongest);
  const auto read = decode_limit_outcomes(text);
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), LimitSetting::kMostEntries);
  EXPECT_EQ(read->front().setting, longest.setting);
  EXPECT_EQ(read->front().message, std::string(200, 'm'));
  EXPECT_TRUE(read->front().devices.empty());
  EXPECT_EQ(decode_limit_outcomes(encode(std::vector{longest}))->front(), longest);
  EXPECT_LE(encode(std::vector(LimitSetting::kMost, longest.setting)).size(),
            LimitSetting::kLongest);
}

}  // namespace
}  // namespace tranche::cluster::limit_settings_test
