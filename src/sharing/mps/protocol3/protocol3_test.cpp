#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mps/capability.h"
#include "mps/protocol.h"

namespace tranche::mps::protocol3_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kUuid = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65";
constexpr const char* kOther = "GPU-74d43ed4-cdf7-e667-3644-bf5b4f46ed65";

Daemon daemon(std::uint64_t limit_mib = 4096) {
  return {.resource = {"nvidia.com/gpu"},
          .devices = {{.uuid = kUuid}},
          .protocol = 3,
          .namespaces = {{.name = "default", .limit_mib = limit_mib, .thread_percentage = 25}}};
}

Order order(std::vector<std::string> arguments) {
  return {.arguments = std::move(arguments), .input = {}};
}

TEST(Protocol3, StartsWithItsLimitsInAFile) {
  const auto start = protocol3().start(daemon(), "/log/config.toml");
  EXPECT_THAT(start.configuration, HasSubstr("pinned_memory_limit = \"4096M\""));
  EXPECT_THAT(start.orders, ElementsAre(order({"-d", "-p", "3", "-m", "-a", "/log/config.toml"})));
  EXPECT_EQ(protocol3().quit(), order({"-q"}));
}

TEST(Protocol3, WaitsForItsServer) {
  const auto ready = protocol3().start(daemon(), "/log/config.toml").ready.value();
  EXPECT_EQ(ready.order, order({"server", "list", "--format=csv,noheader"}));
  EXPECT_TRUE(ready.judge("shared,0,4711,Ready,/pipe,GPU-a,-\n", "/log").has_value());
  const auto coming = ready.judge("shared,0,4711,Initializing,/pipe,GPU-a,-\n", "/log");
  EXPECT_EQ(coming.error().what, "the server of the MPS control daemon is not ready: Initializing");
  EXPECT_EQ(coming.error().hint, "see /log");
  EXPECT_THAT(ready.judge("", "/log").error().what, HasSubstr("is not ready: it has ended"));
}

TEST(Protocol3, IsAliveWhileItHasItsServer) {
  const auto alive = protocol3().alive();
  EXPECT_EQ(alive.order, order({"server", "list", "--format=csv,noheader"}));
  EXPECT_TRUE(alive.judge("shared,0,4711,Initializing,/pipe,GPU-a,-\n", "/log").has_value());
  EXPECT_FALSE(alive.judge("shared,0,4711", "/log")) << "torn";
  const auto gone = alive.judge("no servers\n", "/log");
  EXPECT_EQ(gone.error().what, "the server of the MPS control daemon has ended");
  EXPECT_EQ(gone.error().hint, "see /log");
}

TEST(Protocol3, TellsAChangeToTheDaemonAlone) {
  EXPECT_THAT(protocol3().change(daemon(), daemon(2048)),
              ElementsAre(order({"server", "set", "shared", "--pinned-memory-limit=2048M",
                                 "--active-thread-percentage=25"})));
  EXPECT_EQ(protocol3().servers_question(), std::nullopt);
}

// The form in NVIDIA's documentation.
TEST(Protocol3, CutsPartitions) {
  EXPECT_EQ(protocol3().chunks_question(),
            order({"device", "list", "--server=shared", "--format=csv,noheader"}));
  const std::string listed = "0,shared,00000000:1B:00.0," + std::string(kOther) +
                             ",NVIDIA H100,132,16,-\n" + "1,shared,00000000:43:00.0," + kUuid +
                             ",NVIDIA L20, 92, 23,-\n";
  EXPECT_EQ(protocol3().chunks_of(listed, kUuid), 23);
  EXPECT_EQ(protocol3().chunks_of(listed, kOther), 16);
  EXPECT_EQ(protocol3().chunks_of(listed.substr(0, listed.rfind(",-")), kUuid), std::nullopt)
      << "the 23 may go on";
  EXPECT_EQ(protocol3().chunks_of("no such server\n", kUuid), std::nullopt);
  EXPECT_EQ(protocol3().chunks_of("", kUuid), std::nullopt);
  EXPECT_EQ(protocol3().add_partition(daemon().devices[0], 1, 3),
            order({"sm-partition", "create", "tranche_1", "--server=shared",
                   "--device=" + std::string(kUuid), "--chunks=3"}));
}

TEST(Protocol3, IsSpokenFromCuda134On) {
  EXPECT_TRUE(speaks({13040, true}, protocol3()));
  EXPECT_TRUE(speaks({14000, true}, protocol3()));
  EXPECT_FALSE(speaks({13010, true}, protocol3()));
  EXPECT_FALSE(speaks({}, protocol3()));
  EXPECT_EQ(describe({13040, true}), "of CUDA 13.4: protocols 2 and 3, static SM partitions");
}

TEST(Protocol3, IsKeptWhereItIsThere) {
  const config::MpsControlRules all{.protocol = 3, .sm_partitions = 2};
  const auto settled = settle(all, {13040, true});
  EXPECT_EQ(settled.rules, all);
  EXPECT_THAT(settled.fallbacks, IsEmpty());
}

TEST(Protocol3, IsFallenBackFromWhereItIsNot) {
  const config::MpsControlRules all{.protocol = 3, .sm_partitions = config::EqualChunks{}};
  const auto settled = settle(all, {13010, true});
  EXPECT_EQ(settled.rules.protocol, 2);
  EXPECT_EQ(settled.rules.sm_partitions, all.sm_partitions);
  EXPECT_THAT(settled.fallbacks,
              ElementsAre("tranche.mps.protocol: nvidia-cuda-mps-control of CUDA 13.1 has no "
                          "protocol 3 (that is CUDA 13.4, driver r615, and later); protocol 2 is "
                          "used"));
  EXPECT_THAT(settle(all, {}).fallbacks,
              ElementsAre(HasSubstr("does not tell its version, has no protocol 3"),
                          HasSubstr("clients are limited by percentages")));
}

}  // namespace
}  // namespace tranche::mps::protocol3_test
