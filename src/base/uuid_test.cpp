#include "base/uuid.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace tranche::uuid_test {
namespace {

TEST(RandomUuid, IsVersionFourAndDiffersEachTime) {
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const auto uuid = random_uuid();
    EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

}  // namespace
}  // namespace tranche::uuid_test
