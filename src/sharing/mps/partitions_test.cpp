#include "mps/partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mps/diff.h"
#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::mps::partitions_test {
namespace {

using offer::testing::entry;
using test::a100_40gb;
using test::machine_of;
using test::t4;
using ::testing::HasSubstr;

constexpr const char* kUuid = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65";

Daemon daemon(config::SmPartitions partitions, int replicas) {
  return {.resource = {"nvidia.com/gpu"},
          .devices = {{.uuid = kUuid, .replicas = replicas}},
          .partitions = partitions};
}

TEST(Partitions, AreCutOrRefused) {
  const auto each = [](config::SmPartitions wanted, int replicas, int total) {
    const auto one = daemon(wanted, replicas);
    return chunks_each(one, one.devices[0], total);
  };
  EXPECT_EQ(each(config::EqualChunks{}, 4, 16), 4);
  EXPECT_EQ(each(config::EqualChunks{}, 3, 16), 5);
  EXPECT_EQ(each(4, 4, 16), 4);
  EXPECT_EQ(each(1, 4, 16), 1);
  EXPECT_THAT(each(5, 4, 16).error().what,
              HasSubstr("has 16 chunks of multiprocessors, and 4 replicas with 5 need 20"));
  EXPECT_THAT(each(config::EqualChunks{}, 17, 16).error().what,
              HasSubstr("17 replicas with 1 need 17"));
}

TEST(Partitions, HaveTheProgramsNames) {
  const std::string name = std::string(kUuid) + "/Kp8AAAA";
  EXPECT_EQ(partition_of(name + "\n", kUuid), name);
  EXPECT_EQ(partition_of(name, kUuid), std::nullopt) << "it may go on";
  EXPECT_EQ(partition_of("Partition " + name + " created\n", kUuid), name);
  EXPECT_EQ(partition_of("SM partition 'a' created on device " + std::string(kUuid) +
                             " (sm-count=34)\nCUDA_MPS_SM_PARTITION=" + name + "\n",
                         kUuid),
            name);
  EXPECT_EQ(partition_of("Failed to fulfill the requested SM partition\n", kUuid), std::nullopt);
  EXPECT_EQ(partition_of(std::string(kUuid) + "/\n", kUuid), std::nullopt);
}

TEST(Partitions, AreForAmpereAndLater) {
  const config::MpsControlRules rules{.protocol = 2, .sm_partitions = config::EqualChunks{}};
  const auto planned = [&](const gpu::Machine& machine) {
    const auto offer = offer::make_offer(machine, offer::testing::mps({entry("gpu", 4)}), {});
    EXPECT_EQ(offer.resources.size(), 1U);
    return std::pair(make_plan(machine, offer, rules).at(0),
                     partitions_objection(machine, offer.resources[0]));
  };
  const auto [ampere, nothing] = planned(machine_of({a100_40gb(0)}));
  EXPECT_TRUE(has_partitions(ampere));
  EXPECT_EQ(ampere.devices[0].replicas, 4);
  EXPECT_EQ(nothing, "");
  const auto [mixed, why] = planned(machine_of({a100_40gb(0), t4(1)}));
  EXPECT_FALSE(has_partitions(mixed));
  EXPECT_THAT(why, HasSubstr("GPU 1 (Tesla T4) of nvidia.com/gpu has no static SM partitions"));
}

TEST(Partitions, AreCutBeforeTheFirstClient) {
  auto other = daemon(config::EqualChunks{}, 4);
  const auto before = other;
  other.devices[0].limit_mib = 1024;
  EXPECT_EQ(diff({before}, {other}).at(0).step, Step::kRetune);
  other.devices[0].replicas = 2;
  EXPECT_EQ(diff({before}, {other}).at(0).step, Step::kRestart);
  EXPECT_EQ(diff({before}, {daemon(4, 4)}).at(0).step, Step::kRestart);
}

}  // namespace
}  // namespace tranche::mps::partitions_test
