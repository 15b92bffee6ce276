#include "cluster/client/modify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/config_map.h"
#include "support/fake_objects.h"

namespace tranche::cluster::modify_test {
namespace {

using testing::HasSubstr;

const ObjectKey kKey{"x", "a"};

class ModifyTest : public testing::Test {
 protected:
  void SetUp() override {
    objects_.put(kConfigMap, R"({"metadata":{"namespace":"x","name":"a"},"data":{"n":"0"}})");
  }
  // Adds one to data.n; `before_write` happens between reading and writing.
  Change add_one(const std::function<void()>& before_write = {}) {
    return [this, before_write](const Object& now) -> Result<std::optional<std::string>> {
      ++changes_;
      ASSIGN_OR_RETURN(auto map, parse_config_map(now.json));
      map.data["n"] = std::to_string(std::stoi(map.data["n"]) + 1);
      if (before_write) before_write();
      return to_json(map);
    };
  }
  void somebody_writes() {
    ++others_;
    objects_.put(kConfigMap, R"({"metadata":{"namespace":"x","name":"a"},"data":{"n":")" +
                                 std::to_string(others_ * 10) + "\"}}");
  }

  test::FakeObjects objects_;
  int changes_ = 0;
  int others_ = 0;
};

TEST_F(ModifyTest, WritesTheChange) {
  const auto now = modify(objects_, kConfigMap, kKey, add_one());
  ASSERT_TRUE(now);
  EXPECT_EQ(parse_config_map(now->json)->data.at("n"), "1");
  EXPECT_EQ(changes_, 1);
}

TEST_F(ModifyTest, StartsAgainWhenSomebodyWroteInBetween) {
  const auto now = modify(objects_, kConfigMap, kKey, add_one([this] {
                            if (others_ < 2) somebody_writes();
                          }));
  ASSERT_TRUE(now) << now.error().what;
  EXPECT_EQ(parse_config_map(now->json)->data.at("n"), "21");
  EXPECT_EQ(changes_, 3);
}

TEST_F(ModifyTest, GivesUpAfterFiveAttempts) {
  const auto now = modify(objects_, kConfigMap, kKey, add_one([this] { somebody_writes(); }));
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(now.error().what, HasSubstr("5 attempts"));
  EXPECT_EQ(changes_, 5);
}

TEST_F(ModifyTest, NothingToChangeWritesNothing) {
  const auto now = modify(objects_, kConfigMap, kKey,
                          [](const Object&) { return Result<std::optional<std::string>>(); });
  ASSERT_TRUE(now);
  EXPECT_THAT(objects_.calls(), testing::ElementsAre("get configmaps x/a"));
}

TEST_F(ModifyTest, OtherErrorsStand) {
  objects_.refuse("update", kConfigMap, {Code::kPermission, "no"});
  EXPECT_EQ(modify(objects_, kConfigMap, kKey, add_one()).error().code, Code::kPermission);
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(modify(objects_, kConfigMap, {"x", "b"}, add_one()).error().code, Code::kNotFound);
  const auto refused = modify(objects_, kConfigMap, kKey, [](const Object&) {
    return Result<std::optional<std::string>>(fail(Code::kInvalidArgument, "mine"));
  });
  EXPECT_EQ(refused.error().what, "mine");
}

}  // namespace
}  // namespace tranche::cluster::modify_test
