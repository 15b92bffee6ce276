#include "controller/web/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/fake_clock.h"
#include "support/fake_objects.h"

namespace tranche::controller::access_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// An API server where token "T" is of user "u", who may list Pods of the namespaces `lists`.
class AccessTest : public testing::Test {
 protected:
  AccessTest() {
    objects_.answer_reviews([this](const cluster::Kind& kind, std::string_view text) {
      return kind == cluster::kTokenReview ? token(text) : access(text);
    });
  }
  std::string token(std::string_view text) {
    const auto spec = json::parse(text)["spec"];
    if (spec["token"] != "T") return R"({"status":{"authenticated":false}})";
    return json{{"status",
                 {{"authenticated", true},
                  {"user", {{"username", "u"}, {"groups", {"g"}}, {"extra", {{"k", {"v"}}}}}}}}}
        .dump();
  }
  std::string access(std::string_view text) {
    const auto spec = json::parse(text)["spec"];
    EXPECT_EQ(spec["user"], "u");
    EXPECT_EQ(spec["groups"], json({"g"}));
    EXPECT_EQ(spec["extra"], json({{"k", {"v"}}}));
    if (spec.contains("nonResourceAttributes")) {
      EXPECT_EQ(spec["nonResourceAttributes"], json({{"verb", "get"}, {"path", "/v1/fleet"}}));
      return json{{"status", {{"allowed", comes_in_}}}}.dump();
    }
    const auto& asked = spec["resourceAttributes"];
    EXPECT_EQ(asked["verb"], "list");
    EXPECT_EQ(asked["resource"], "pods");
    const auto ns = asked.value("namespace", "");
    return json{{"status", {{"allowed", lists_.contains(ns)}}}}.dump();
  }
  Code code_of(const std::string& token) {
    const auto reader = access_.reader(token, {});
    return reader ? Code::kInternal : reader.error().code;
  }

  bool comes_in_ = true;
  std::set<std::string> lists_ = {"a"};
  test::FakeObjects objects_;
  test::FakeClock clock_;
  Access access_{objects_, clock_};
};

TEST_F(AccessTest, WhoItIsIsAskedOnceAMinute) {
  for (int i = 0; i < 3; ++i) {
    const auto reader = access_.reader("T", {});
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(reader->user, "u");
  }
  EXPECT_EQ(objects_.count_calls("review tokenreviews"), 1);
  clock_.advance(Access::kKept);
  EXPECT_TRUE(access_.knows("T")) << "a reader is recognized, and asked for again";
  ASSERT_TRUE(access_.reader("T", {}));
  EXPECT_EQ(objects_.count_calls("review tokenreviews"), 2);
}

TEST_F(AccessTest, WhoIsRefused) {
  EXPECT_EQ(code_of("other"), Code::kPermission);
  EXPECT_EQ(code_of(std::string(Access::kLongestToken + 1, 'x')), Code::kPermission);
  comes_in_ = false;
  const auto stranger = access_.reader("T", {});
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(stranger.error().message(), HasSubstr("u may not get the path /v1/fleet; bind"));
}

TEST_F(AccessTest, NobodyComesInWhileTheApiServerDoesNotAnswer) {
  objects_.refuse("review", cluster::kTokenReview, {Code::kUnavailable, "away"});
  EXPECT_EQ(code_of("T"), Code::kUnavailable);
  objects_.recover();
  objects_.refuse("review", cluster::kSubjectAccessReview, {Code::kPermission, "no RBAC"});
  EXPECT_EQ(code_of("T"), Code::kUnavailable);
  objects_.recover();
  EXPECT_TRUE(access_.reader("T", {})) << "what failed once is tried again";
  objects_.answer_reviews([](const auto&, auto) { return std::string("torn"); });
  clock_.advance(Access::kKept);
  EXPECT_FALSE(access_.reader("T", {}));
}

TEST_F(AccessTest, NamesOfTheNamespacesWhosePodsOneMayList) {
  const auto reader = *access_.reader("T", {});
  const std::set<std::string> all = {"a", "b", "c"};
  EXPECT_EQ(access_.sight("T", reader, all, {}), (Access::Sight{.some = {"a"}}));
  const auto asked = objects_.count_calls("review subjectaccessreviews");
  EXPECT_EQ(access_.sight("T", reader, all, {}), (Access::Sight{.some = {"a"}}));
  EXPECT_EQ(objects_.count_calls("review subjectaccessreviews"), asked) << "kept";
  lists_ = {""};
  clock_.advance(Access::kKept);
  ASSERT_TRUE(access_.reader("T", {}));
  EXPECT_TRUE(access_.sight("T", reader, all, {}).all);
}

TEST_F(AccessTest, AnErrorHidesNames) {
  const auto reader = *access_.reader("T", {});
  objects_.refuse("review", cluster::kSubjectAccessReview, {Code::kUnavailable, "away"});
  EXPECT_EQ(access_.sight("T", reader, {"a"}, {}), Access::Sight());
  objects_.recover();
  EXPECT_EQ(access_.sight("T", reader, {"a"}, {}), (Access::Sight{.some = {"a"}}));
}

TEST_F(AccessTest, ANamespaceMayHaveAnyName) {
  lists_ = {"path", "verb"};
  const auto reader = *access_.reader("T", {});
  EXPECT_EQ(access_.sight("T", reader, {"a", "path", "verb"}, {}),
            (Access::Sight{.some = {"path", "verb"}}));
}

TEST_F(AccessTest, WhoIsNoLongerLetInIsForgotten) {
  ASSERT_TRUE(access_.reader("T", {}));
  comes_in_ = false;
  clock_.advance(Access::kKept);
  EXPECT_EQ(code_of("T"), Code::kFailedPrecondition);
  EXPECT_EQ(code_of("T"), Code::kFailedPrecondition);
  comes_in_ = true;
  clock_.advance(Access::kKept);
  ASSERT_TRUE(access_.reader("T", {}));
  clock_.advance(Access::kRecognized);
  EXPECT_FALSE(access_.knows("T"));
}

TEST_F(AccessTest, MadeUpTokensPushOutNoReader) {
  ASSERT_TRUE(access_.reader("T", {}));
  for (std::size_t i = 0; i < 2 * Access::kMostReaders; ++i) {
    clock_.advance(std::chrono::milliseconds(1));
    static_cast<void>(access_.reader("t" + std::to_string(i), {}));
  }
  ASSERT_TRUE(access_.reader("T", {}));
  EXPECT_EQ(objects_.count_calls("review subjectaccessreviews"), 1);
}

TEST_F(AccessTest, WhatIsRememberedIsBounded) {
  for (std::size_t i = 0; i < Access::kMostReaders + 10; ++i) {
    clock_.advance(std::chrono::milliseconds(1));
    static_cast<void>(access_.reader("t" + std::to_string(i), {}));
  }
  EXPECT_FALSE(access_.knows("t0"));
  EXPECT_TRUE(access_.knows("t20"));
}

}  // namespace
}  // namespace tranche::controller::access_test
