#include "cluster/formats/mig_change.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace tranche::cluster::mig_change_test {
namespace {

using testing::HasSubstr;

WallTime time() { return WallTime(std::chrono::seconds(1'767'225'600)); }

MigChange change() {
  return {.id = "0f8fad5b-d9cb-469f-a165-70867728950e",
          .layout = "all-1g.10gb",
          .phase = MigPhase::kDraining,
          .written_at = time(),
          .deadline = time() + std::chrono::minutes(5),
          .failed = false,
          .before = {{"nvidia.com/gpu", 4}},
          .after = {{"nvidia.com/gpu", 0}, {"nvidia.com/mig-1g.10gb", 28}},
          .pods = {{"shop", "train-7f.0"}, {"shop", "web"}},
          .waits_for = "Pods of NVIDIA's clients end first: gpu-operator/nvidia-dcgm-x7f2",
          .journal = R"({"version":"journal/v1"})"};
}

MigDrain drain() {
  return {.id = "0f8fad5b-d9cb-469f-a165-70867728950e",
          .written_at = time(),
          .answer = MigDrain::Answer::kRefused,
          .reason = "no other node offers nvidia.com/gpu",
          .outages = {"nvidia.com/gpu"},
          .pending = {"shop/web (nvidia.com/gpu: 1)"},
          .cordoned = true,
          .uncordoned = false,
          .blocked = {
              {{"shop", "web"}, "PodDisruptionBudget shop/web allows no eviction now", time()}}};
}

nlohmann::json sample(const std::string& name) {
  std::ifstream file("tests/data/" + name);
  return nlohmann::json::parse(file);
}

TEST(MigDrain, ATextOfAReleaseWithoutTimesIsRead) {
  auto text = sample("mig-drain-v1.json");
  text["blocked"][0].erase("since");
  const auto read = decode_mig_drain(text.dump());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->blocked[0].since, WallTime());
}

TEST(MigChange, ComesBackAsWritten) {
  for (const auto phase :
       {MigPhase::kAsking, MigPhase::kDraining, MigPhase::kChanging, MigPhase::kFinished}) {
    auto written = change();
    written.phase = phase;
    written.failed = phase == MigPhase::kFinished;
    written.why = {{{"shop", "web"}, "shares the MPS control daemon of nvidia.com/gpu with GPU 0"}};
    const auto read = decode_mig_change(encode(written));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, written) << to_string(phase);
  }
}

TEST(MigDrain, ComesBackAsWritten) {
  auto written = drain();
  auto read = decode_mig_drain(encode(written));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, written);
  written.answer = MigDrain::Answer::kAccepted;
  written.uncordoned = true;
  read = decode_mig_drain(encode(written));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, written);
}

// The samples that the schemas are held to (tests/e2e/test_schemas.py).
TEST(MigChange, IsWrittenAsTheSample) {
  const auto read = decode_mig_change(sample("mig-change-v1.json").dump());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, change());
  EXPECT_EQ(nlohmann::json::parse(encode(*read)), sample("mig-change-v1.json"));
}

TEST(MigDrain, IsWrittenAsTheSample) {
  const auto read = decode_mig_drain(sample("mig-drain-v1.json").dump());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, drain());
  EXPECT_EQ(nlohmann::json::parse(encode(*read)), sample("mig-drain-v1.json"));
}

TEST(MigChange, NoMorePodsAreWrittenThanAreRead) {
  auto many = change();
  many.pods.assign(MigChange::kMostPods + 3, {"shop", "web"});
  const auto read = decode_mig_change(encode(many));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->pods.size(), MigChange::kMostPods);
}

TEST(MigChange, PodsWithLongNamesAreLeftOutBeforeTheTextIsTooLong) {
  auto many = change();
  many.pods.assign(MigChange::kMostPods, {std::string(63, 'n'), std::string(253, 'p')});
  const auto read = decode_mig_change(encode(many));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_GT(read->pods.size(), 0U);
  EXPECT_EQ(read->journal, many.journal);
}

TEST(MigChange, AReasonIsWrittenSoThatItCanBeRead) {
  auto written = change();
  written.why[written.pods[0]] = std::string(1000, 'x') + "\n";
  written.why[{"shop", "not-among-the-pods"}] = "x";
  const auto read = decode_mig_change(encode(written));
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->why.size(), 1U);
  EXPECT_EQ(read->why.begin()->second.size(), MigChange::kLongestWhy);
}

TEST(MigDrain, WhateverIsToldCanBeRead) {
  auto much = drain();
  much.reason = std::string(5000, '"') + "\n\x1b[31m\xff";
  much.outages.assign(MigDrain::kMost + 5, std::string(5000, '\\'));
  much.pending.assign(MigDrain::kMost + 5, std::string(5000, '\n'));
  much.blocked.assign(MigDrain::kMost + 5,
                      {{std::string(63, 'n'), std::string(253, 'p')}, std::string(5000, '"')});
  const auto read = decode_mig_drain(encode(much));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->reason.size(), MigDrain::kLongestReason);
  EXPECT_EQ(read->blocked.size(), MigDrain::kMost);
}

// One field of the sample in another form.
struct Wrong {
  const char* name;
  const char* path;
  nlohmann::json value;
  std::string why;
};

nlohmann::json many_of(const nlohmann::json& one, std::size_t count) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(one);
  return list;
}

TEST(MigChange, WhatCannotBeOneIsRefused) {
  nlohmann::json resources;
  for (int i = 0; i < 129; ++i) resources[fmt::format("nvidia.com/mig-{}", i)] = 1;
  const Wrong cases[] = {
      {"another version", "/version", "mig-change/v2", "not mig-change/v1"},
      {"no id", "/id", "", "id"},
      {"a path for an id", "/id", "../x", "id"},
      {"no layout", "/layout", nullptr, "layout"},
      {"a layout that is no label's value", "/layout", "a b", "layout"},
      {"a line in the layout", "/layout", "a\nb", "layout"},
      {"an unknown phase", "/phase", "dreaming", "phase"},
      {"no time", "/writtenAt", "yesterday", "writtenAt"},
      {"no deadline", "/deadline", nullptr, "deadline"},
      {"a text for a truth", "/failed", "true", "failed"},
      {"a number for a truth", "/failed", 1, "failed"},
      {"a resource without a domain", "/before", {{"gpu", 1}}, "before"},
      {"a resource with a line", "/before", {{"nvidia.com/gpu\n", 1}}, "before"},
      {"fewer than none", "/after", {{"nvidia.com/gpu", -1}}, "after"},
      {"a part of one", "/after", {{"nvidia.com/gpu", 0.5}}, "after"},
      {"too many resources", "/after", resources, "after"},
      {"Pods that are no list", "/pods", "shop/web", "pods"},
      {"a path for a Pod", "/pods/0/name", "../p", "pods[0].name"},
      {"a Pod without a namespace", "/pods/1/namespace", nullptr, "pods[1].namespace"},
      {"too many Pods", "/pods", many_of({{"namespace", "a"}, {"name", "p"}}, 257), "pods"},
      {"a journal that is no text", "/journal", {{"a", 1}}, "journal"},
  };
  for (const auto& one : cases) {
    auto text = sample("mig-change-v1.json");
    text[nlohmann::json::json_pointer(one.path)] = one.value;
    const auto read = decode_mig_change(text.dump());
    ASSERT_FALSE(read) << one.name;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(read.error().what, HasSubstr(one.why)) << one.name;
  }
}

TEST(MigDrain, WhatCannotBeOneIsRefused) {
  const Wrong cases[] = {
      {"another version", "/version", "mig-change/v1", "not mig-drain/v1"},
      {"no id", "/id", nullptr, "id"},
      {"an unknown answer", "/answer", "perhaps", "answer"},
      {"a control sequence in the reason", "/reason", "\x1b[31m", "reason"},
      {"a long reason", "/reason", std::string(1025, 'x'), "reason"},
      {"a line in an outage", "/outages/0", "a\nb", "outages"},
      {"too many that wait", "/pending", many_of("a/b", 65), "pending"},
      {"a text for a truth", "/cordoned", "yes", "cordoned"},
      {"a Pod that is none", "/blocked/0/name", "A B", "blocked[0].name"},
      {"no time", "/blocked/0/since", "soon", "blocked[0].since"},
      {"a line in a why", "/blocked/0/why", "a\nb", "blocked[0].why"},
  };
  for (const auto& one : cases) {
    auto text = sample("mig-drain-v1.json");
    text[nlohmann::json::json_pointer(one.path)] = one.value;
    const auto read = decode_mig_drain(text.dump());
    ASSERT_FALSE(read) << one.name;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(read.error().what, HasSubstr(one.why)) << one.name;
  }
}

TEST(MigChange, TextsThatAreNoneAreRefused) {
  for (const auto& text : {std::string("{"), std::string("[]"), std::string("null"), std::string(),
                           std::string(200'000, ' '), std::string(100'000, '[')}) {
    EXPECT_FALSE(decode_mig_change(text)) << text.substr(0, 20);
    EXPECT_FALSE(decode_mig_drain(text)) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace tranche::cluster::mig_change_test
