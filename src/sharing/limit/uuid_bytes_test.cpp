#include "limit/uuid_bytes.h"

#include <gtest/gtest.h>

namespace tranche::limit::uuid_bytes_test {
namespace {

TEST(UuidBytes, AreTheDigits) {
  const auto bytes = uuid_bytes("GPU-00112233-4455-6677-8899-aAbBcCdDeEfF");
  ASSERT_TRUE(bytes);
  for (unsigned i = 0; i < 16; ++i) EXPECT_EQ((*bytes)[i], i * 0x11);
  EXPECT_EQ(uuid_bytes("MIG-00112233-4455-6677-8899-aabbccddeeff"), bytes);
  EXPECT_EQ(uuid_bytes("00112233-4455-6677-8899-aabbccddeeff"), bytes);
}

TEST(UuidBytes, AnythingElseHasNone) {
  for (const char* text :
       {"", "GPU-", "GPU-00112233-4455-6677-8899-aabbccddeef",
        "GPU-00112233x4455-6677-8899-aabbccddeeff", "GPU-0x112233-4455-6677-8899-aabbccddeeff",
        "MIG-GPU-00112233-4455-6677-8899-aabbccddeeff/1/0",
        "GPU-+0112233-4455-6677-8899-aabbccddeeff"}) {
    EXPECT_EQ(uuid_bytes(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tranche::limit::uuid_bytes_test
