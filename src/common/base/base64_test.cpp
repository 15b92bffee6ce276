#include "base/base64.h"

#include <gtest/gtest.h>

namespace tranche::base64_test {
namespace {

TEST(Base64, Decodes) {
  const struct {
    const char* text;
    std::optional<std::string> expected;
  } cases[] = {
      {"", ""},
      {"Zg==", "f"},
      {"Zm8=", "fo"},
      {"Zm9v", "foo"},
      {"Zm9vYg==", "foob"},
      {"Zm9v\n Yg==\n", "foob"},
      {"+/+/", "\xfb\xff\xbf"},
      {"Zg", std::nullopt},
      {"Zg=", std::nullopt},
      {"Z", std::nullopt},
      {"Zg==Zg==", std::nullopt},
      {"Zm9v=", std::nullopt},
      {"====", std::nullopt},
      {"Zm9-", std::nullopt},
  };
  for (const auto& test : cases) EXPECT_EQ(decode_base64(test.text), test.expected) << test.text;
}

TEST(Base64, EncodesWhatItDecodes) {
  const struct {
    std::string bytes;
    const char* expected;
  } cases[] = {{"", ""},
               {"f", "Zg=="},
               {"fo", "Zm8="},
               {"foo", "Zm9v"},
               {"foob", "Zm9vYg=="},
               {"\xfb\xff\xbf", "+/+/"},
               {std::string(1, '\0'), "AA=="}};
  for (const auto& test : cases) {
    EXPECT_EQ(encode_base64(test.bytes), test.expected);
    EXPECT_EQ(decode_base64(test.expected), test.bytes);
  }
}

}  // namespace
}  // namespace tranche::base64_test
