#include "mps/protocol3/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mps/diff.h"
#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::mps::orders_test {
namespace {

using offer::testing::entry;
using test::gpu_uuid;
using test::machine_of;
using test::t4;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Daemon planned(int replicas, config::Limits rules = {}, bool one_only = true, int gpus = 1) {
  auto config = offer::testing::mps({entry("gpu", replicas)});
  config.sharing.mps->fail_requests_greater_than_one = one_only;
  config.tranche.limits.general = std::move(rules);
  const auto machine = machine_of(gpus, t4);
  const auto offer = offer::make_offer(machine, config, {});
  return make_plan(machine, offer, {.protocol = 3, .sm_partitions = {}}).at(0);
}

Order order(std::vector<std::string> arguments) {
  return {.arguments = std::move(arguments), .input = {}};
}

const config::Limits kStrict{.enforcement = Enforcement::kStrict,
                             .memory = Bytes::from_mib(2048),
                             .compute = config::Percent{200}};

TEST(Configuration, NamesTheGpusAndTheLimitsOfEveryClient) {
  EXPECT_EQ(configuration(planned(4, {}, true, 2)),
            "# of tranche mps-control-daemon: written anew at each start\n"
            "schema_version = \"1.0\"\n\n"
            "[servers.shared]\n"
            "allowed_devices = \"" +
                gpu_uuid(0) + "," + gpu_uuid(1) +
                "\"\n"
                "pinned_memory_limit = \"3840M\"\n"
                "active_thread_percentage = \"25\"\n");
}

TEST(Configuration, HasANamespaceForEachNumberOfTranches) {
  EXPECT_EQ(configuration(planned(3, kStrict, false)),
            "# of tranche mps-control-daemon: written anew at each start\n"
            "schema_version = \"1.0\"\n\n"
            "[servers.shared]\n"
            "allowed_devices = \"" +
                gpu_uuid(0) +
                "\"\n"
                "pinned_memory_limit = \"2048M\"\n"
                "active_thread_percentage = \"20\"\n"
                "\n[servers.shared.namespaces.tranches_1]\n"
                "pinned_memory_limit = \"2048M\"\n"
                "active_thread_percentage = \"20\"\n"
                "\n[servers.shared.namespaces.tranches_2]\n"
                "pinned_memory_limit = \"4096M\"\n"
                "active_thread_percentage = \"40\"\n"
                "\n[servers.shared.namespaces.tranches_3]\n"
                "pinned_memory_limit = \"6144M\"\n"
                "active_thread_percentage = \"60\"\n");
}

TEST(Configuration, OmitsAMissingLimit) {
  const auto text = configuration(planned(2, {.enforcement = Enforcement::kStrict,
                                              .memory = config::NoLimit{},
                                              .compute = config::NoLimit{}}));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("pinned_memory_limit")));
  EXPECT_THAT(text, ::testing::EndsWith("active_thread_percentage = \"100\"\n"));
}

TEST(Change, ChangesLimitsWithoutARestart) {
  const auto before = planned(4);
  const auto after = planned(2);
  ASSERT_EQ(diff({before}, {after}).at(0).step, Step::kRetune);
  EXPECT_THAT(change_orders(before, after),
              ElementsAre(order({"server", "set", "shared", "--pinned-memory-limit=7680M",
                                 "--active-thread-percentage=50"})));
  EXPECT_THAT(change_orders(before, before), IsEmpty());
}

TEST(Change, MakesNamespacesAndLeavesThoseThatGo) {
  const auto two = planned(2, kStrict, false);
  const auto three = planned(3, kStrict, false);
  EXPECT_THAT(change_orders(two, three),
              ElementsAre(order({"namespace", "create", "tranches_3", "--server=shared"}),
                          order({"namespace", "set", "tranches_3", "--server=shared",
                                 "--pinned-memory-limit=6144M", "--active-thread-percentage=60"})));
  EXPECT_THAT(change_orders(three, two), IsEmpty());
}

TEST(Change, OfALimitToNoneIsAllOfTheLargestDevice) {
  const config::Limits none{.enforcement = Enforcement::kElastic,
                            .memory = config::NoLimit{},
                            .compute = config::NoLimit{}};
  EXPECT_THAT(change_orders(planned(4), planned(4, none)),
              ElementsAre(order({"server", "set", "shared", "--pinned-memory-limit=15360M",
                                 "--active-thread-percentage=100"})));
}

TEST(Change, OfTheProtocolNeedsAnotherDaemon) {
  auto two = planned(4);
  two.protocol = 2;
  two.namespaces.clear();
  EXPECT_EQ(diff({two}, {planned(4)}).at(0).step, Step::kRestart);
  EXPECT_EQ(diff({planned(4)}, {two}).at(0).step, Step::kRestart);
}

TEST(Status, IsThatOfOurServer) {
  EXPECT_EQ(status_of("training,1000,48201,Initializing,/x,GPU-a,-\n"
                      "shared,0,48202,Ready,/run/nvidia-mps/shared,GPU-abcd-1234,-\n"),
            kReady);
  EXPECT_EQ(status_of("shared,0,48202,Initializing,/x,GPU-a,-\n"), "Initializing");
  EXPECT_EQ(status_of("shared_too,0,48202,Ready,/x,GPU-a,-\n"), "");
  for (const char* torn : {"shared,", "shared,0", "shared,0,48202", "shared,0,48202,",
                           "shared,0,48202,Rea", "shared,0,48202,Ready", "shared, Ready, /x"}) {
    EXPECT_EQ(status_of(torn), "") << torn;
  }
  EXPECT_EQ(status_of("no servers\n"), "");
  EXPECT_EQ(status_of(""), "");
}

}  // namespace
}  // namespace tranche::mps::orders_test
