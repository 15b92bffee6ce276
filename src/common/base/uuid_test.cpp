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
    EXPECT_TRUE(is_uuid(uuid));
  }
}

TEST(IsUuid, RefusesWhatCouldBeAPath) {
  for (const char* text :
       {"", "..", "../../../../../../../../../../../etc/", "0b51bcc7",
        "0B51BCC7-6a6c-4c0f-9e0e-9c2bd53d2b1a", "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a ",
        "0b51bcc706a6c04c0f09e0e09c2bd53d2b1a"}) {
    EXPECT_FALSE(is_uuid(text)) << text;
  }
}

}  // namespace
}  // namespace tranche::uuid_test
