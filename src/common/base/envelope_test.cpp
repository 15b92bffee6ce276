#include "base/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::envelope_test {
namespace {

using ::testing::HasSubstr;

constexpr EnvelopeKind kKind{.version = "box/v1", .key = "content"};

TEST(Envelopes, StoredForm) {
  EXPECT_EQ(seal(kKind, R"({"a":1})"),
            R"({"checksum":"9c3e82dd6fcae8b1","content":{"a":1},"version":"box/v1"})");
  EXPECT_THAT(seal(kKind, "{}", "2026-01-01T00:00:00Z"),
              HasSubstr(R"("version":"box/v1","writtenAt":"2026-01-01T00:00:00Z"})"));
}

TEST(Envelopes, WhatIsSealedIsOpened) {
  const auto text = seal(kKind, R"({"a":[1,{"b":null}],"c":"\u0001é\""})");
  const auto content = unseal(kKind, text);
  ASSERT_TRUE(content) << content.error().message();
  EXPECT_EQ(content->find("c")->as_string(), "\x01é\"");
}

TEST(Envelopes, HowItIsWrittenDoesNotMatter) {
  const auto sealed = seal(kKind, R"({"a":1,"b":[2,3]})");
  const auto sum = sealed.substr(sealed.find(':') + 1, 18);
  const auto by_hand =
      "{\n \"version\": \"box/v1\",\n \"content\": {\"b\": [2, 3],\n  \"a\": 1},\n \"checksum\": " +
      sum + "}\n";
  EXPECT_TRUE(unseal(kKind, by_hand)) << unseal(kKind, by_hand).error().message();
}

TEST(Envelopes, RefusalsSayWhy) {
  const auto sealed = seal(kKind, R"({"a":10})");
  auto edited = sealed;
  edited.replace(edited.find("10"), 2, "11");
  const struct {
    const char* name;
    std::string text;
    const char* why;
  } cases[] = {
      {"empty", "", "torn or not box/v1: "},
      {"torn", sealed.substr(0, sealed.size() / 2), "torn or not box/v1: "},
      {"deep", std::string(100'000, '['), "torn or not box/v1: "},
      {"list", "[]", "torn or not box/v1: it has no version"},
      {"null version", R"({"version":null})", "it has no version"},
      {"other version", R"({"version":"box/v2"})",
       "version \"box/v2\" where this release reads box/v1"},
      {"no content", R"({"version":"box/v1","checksum":""})", "it has no object `content`"},
      {"no checksum", R"({"version":"box/v1","content":{}})", "it has no checksum"},
      {"number", R"({"version":"box/v1","checksum":"","content":{"a":1e999}})",
       "a number or a text that no program can hold"},
      {"edited", edited, "its checksum does not match its content"},
  };
  for (const auto& c : cases) {
    const auto content = unseal(kKind, c.text);
    ASSERT_FALSE(content) << c.name;
    EXPECT_EQ(content.error().code, Code::kInvalidArgument) << c.name;
    EXPECT_THAT(content.error().what, HasSubstr(c.why)) << c.name;
  }
}

}  // namespace
}  // namespace tranche::envelope_test
