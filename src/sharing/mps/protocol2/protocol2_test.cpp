#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mps/protocol.h"

namespace tranche::mps::protocol2_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kUuid = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65";
constexpr const char* kOther = "GPU-74d43ed4-cdf7-e667-3644-bf5b4f46ed65";

Daemon daemon(int threads = 25) {
  return {.resource = {"nvidia.com/gpu"},
          .devices = {{.uuid = kUuid, .limit_mib = 4096}},
          .thread_percentage = threads};
}

TEST(Protocol2, StartsAndTellsLimitsInItsShell) {
  const auto start = protocol2().start(daemon(), "/log/config.toml");
  EXPECT_EQ(start.configuration, "");
  EXPECT_THAT(start.orders, ElementsAre(Order{{"-d"}, ""},
                                        Order{{}, "set_default_device_pinned_mem_limit 0 4096M"},
                                        Order{{}, "set_default_active_thread_percentage 25"}));
  EXPECT_FALSE(start.ready.has_value());
  auto cut = daemon();
  cut.partitions = 2;
  EXPECT_EQ(protocol2().start(cut, "").orders.front(), (Order{{"-d", "-S"}, ""}));
  EXPECT_EQ(protocol2().quit(), (Order{{}, "quit"}));
}

TEST(Protocol2, IsAliveWhileItAnswersWithANumber) {
  const auto question = protocol2().alive();
  EXPECT_EQ(question.order, (Order{{}, "get_default_active_thread_percentage"}));
  EXPECT_TRUE(question.judge("25.0\n", "/log").has_value());
  EXPECT_TRUE(question.judge("a warning of 2 words\n100\n", "/log").has_value());
  EXPECT_THAT(question.judge("Cannot find MPS\ncontrol daemon\n", "/log").error().what,
              HasSubstr("is answered by 'Cannot find MPS control daemon'"));
}

TEST(Protocol2, IsNotAliveByAnswersThatHaveADigit) {
  const auto question = protocol2().alive();
  for (const char* answer :
       {"", "\n", "error 806\n", "MPS 13.0: no such command\n", "25.0.1\n", "-25.0\n", "0\n",
        "101\n", "4711\n", "25.0 %\n", "inf\n", "nan\n", "0x19\n"}) {
    EXPECT_FALSE(question.judge(answer, "/log")) << answer;
  }
}

TEST(Protocol2, TellsAChangeToEachServer) {
  EXPECT_THAT(protocol2().change(daemon(), daemon(50)),
              ElementsAre(Order{{}, "set_default_active_thread_percentage 50"}));
  EXPECT_EQ(protocol2().servers_question(), (Order{{}, "get_server_list"}));
  EXPECT_THAT(protocol2().change_servers(daemon(), daemon(50), "17\r\nno server 18\n4711\n"),
              ElementsAre(Order{{}, "set_active_thread_percentage 17 50"},
                          Order{{}, "set_active_thread_percentage 4711 50"}));
  EXPECT_THAT(protocol2().change_servers(daemon(), daemon(), "17\n"), IsEmpty());
}

// The form in NVIDIA's documentation.
TEST(Protocol2, CutsPartitions) {
  constexpr const char* kLspart =
      "GPU           Partition                            free   used  free  used  clients\n"
      "                                                   chunk  chunk SM    SM\n"
      "GPU-74d43ed3  -                                    3      7     24    56    -\n"
      "GPU-74d43ed3  Dx4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA -      7     -     56    Yes\n";
  EXPECT_EQ(protocol2().chunks_question(), (Order{{}, "lspart"}));
  EXPECT_EQ(protocol2().chunks_of(kLspart, kUuid), 10);
  EXPECT_EQ(protocol2().chunks_of(kLspart, kOther), std::nullopt);
  EXPECT_EQ(protocol2().add_partition(daemon().devices[0], 1, 3),
            (Order{{}, "sm_partition add " + std::string(kUuid) + " 3"}));
}

}  // namespace
}  // namespace tranche::mps::protocol2_test
