#include "limit/start_message.h"

#include <gtest/gtest.h>

namespace tranche::limit::start_message_test {
namespace {

const StartNotice kNotice{
    .pid = 4242, .tenants = {"a-1", "b"}, .preload = "libfoo.so libbar.so", .waits = true};

TEST(StartMessage, IsReadAsItWasWritten) {
  EXPECT_EQ(decode_start_notice(encode(kNotice)).value(), kNotice);
  const StartAnswer no{.may_start = false, .reason = "the driver refuses"};
  EXPECT_EQ(decode_start_answer(encode(no)).value(), no);
  EXPECT_EQ(decode_start_answer(encode(StartAnswer{})).value(), StartAnswer{});
}

TEST(StartMessage, TextOfAnImageIsPrintableAndBounded) {
  auto notice = kNotice;
  notice.preload = "lib\x1b[2J\xff\n.so" + std::string(100'000, 'x');
  const auto packet = encode(notice);
  EXPECT_LT(packet.size(), kLargestStartPacket);
  const auto decoded = decode_start_notice(packet);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->preload.substr(0, 12), "lib?[2J??.so");
  EXPECT_EQ(decoded->preload.size(), kLongestPreload);
}

TEST(StartMessage, KeysOfALaterReleaseArePassedOver) {
  const auto decoded = decode_start_notice(
      R"({"version":"limit-start/v1","pid":1,"tenants":["a"],"preload":"","waits":false,"new":[]})");
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->pid, 1);
}

struct Refused {
  const char* name;
  std::string packet;
};
class StartMessageRefused : public ::testing::TestWithParam<Refused> {};

TEST_P(StartMessageRefused, IsRefused) {
  EXPECT_FALSE(decode_start_notice(GetParam().packet)) << GetParam().packet.substr(0, 200);
}

std::string with(const std::string& pid, const std::string& tenants,
                 const std::string& rest = R"("preload":"","waits":true)") {
  return R"({"version":"limit-start/v1","pid":)" + pid + R"(,"tenants":)" + tenants + "," + rest +
         "}";
}

std::string many_tenants() {
  std::string list = "[\"a\"";
  for (std::size_t i = 0; i < kMostTenants; ++i) list += ",\"a\"";
  return list + "]";
}

TEST(StartMessage, ARefusalSaysWhat) {
  EXPECT_EQ(decode_start_notice(with("0", R"(["a"])")).error().what,
            "not limit-start/v1: pid is 0, no whole number from 1 to 2147483647");
  EXPECT_EQ(decode_start_answer(R"({"version":"limit-start/v1","mayStart":true})").error().what,
            "not limit-start/v1: reason is missing");
  EXPECT_EQ(decode_start_answer("{}").error().what, "not limit-start/v1: another version");
}

INSTANTIATE_TEST_SUITE_P(
    StartMessage, StartMessageRefused,
    ::testing::Values(
        Refused{"empty", ""}, Refused{"no_json", "hello"},
        Refused{"another_version", R"({"version":"limit-start/v2"})"}, Refused{"list", "[]"},
        Refused{"pid_of_nobody", with("0", R"(["a"])")},
        Refused{"pid_below", with("-1", R"(["a"])")},
        Refused{"pid_beyond", with("4294967297", R"(["a"])")},
        Refused{"pid_beyond_all", with("42e42", R"(["a"])")},
        Refused{"pid_as_text", with("\"1\"", R"(["a"])")}, Refused{"no_tenant", with("1", "[]")},
        Refused{"too_many_tenants", with("1", many_tenants())},
        Refused{"tenant_as_path", with("1", R"(["../a"])")},
        Refused{"tenant_of_no_name", with("1", R"([""])")},
        Refused{"tenant_too_long", with("1", "[\"" + std::string(65, 'a') + "\"]")},
        Refused{"tenants_as_text", with("1", R"("a")")},
        Refused{"tenant_as_number", with("1", R"(["a",7])")},
        Refused{"half_of_a_pair", with("1", R"(["a"])", R"("preload":"\ud800","waits":true)")},
        Refused{"number_of_no_use",
                with("1", R"(["a"])", R"("preload":"","waits":true,"x":1e999)")},
        Refused{"no_utf8", with("1", R"(["a"])", "\"preload\":\"\xff\",\"waits\":true")},
        Refused{"pid_twice", with("1", R"(["a"])", R"("preload":"","waits":true,"pid":"1")")},
        Refused{"deep", with("1", R"(["a"])",
                             R"("preload":"","waits":true,"x":)" + std::string(300, '[') +
                                 std::string(300, ']'))},
        Refused{"waits_as_number", with("1", R"(["a"])", R"("preload":"","waits":1)")},
        Refused{"waits_missing", with("1", R"(["a"])", R"("preload":"")")},
        Refused{"preload_as_list", with("1", R"(["a"])", R"("preload":[],"waits":true)")},
        Refused{"too_long", with("1", R"(["a"])",
                                 R"("waits":true,"preload":")" + std::string(9000, 'x') + "\"")}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tranche::limit::start_message_test
