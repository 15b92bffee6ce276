#include "offer/preferred.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::offer::preferred_test {
namespace {

using config::AllocationPolicy;
using test::a100_40gb;
using test::gpu_uuid;
using test::machine_of;
using test::mig_uuid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;  // NOLINT: the words of these tests

constexpr auto kDistributed = AllocationPolicy::kDistributed;
constexpr auto kPacked = AllocationPolicy::kPacked;

ResourceOffer gpus(int count, int replicas = 1) {
  return make_offer(machine_of(count, a100_40gb), time_slicing({entry("gpu", replicas)}), {})
      .resources.at(0);
}
std::string g(int index) { return gpu_uuid(index); }
std::string g(int index, int replica) { return replica_id(gpu_uuid(index), replica); }

Links links_of(int gpus, std::size_t island) {
  Links links;
  for (int index = 0; index < gpus; ++index) links.gpu_uuids.push_back(g(index));
  links.topology = test::islands(static_cast<std::size_t>(gpus), island, 1);
  return links;
}

// All ids of the offer except those in use.
std::vector<std::string> free_ids(const ResourceOffer& offer,
                                  const std::vector<std::string>& used) {
  std::vector<std::string> out;
  for (const std::string& id : ids(offer)) {
    if (std::ranges::find(used, id) == used.end()) out.push_back(id);
  }
  return out;
}

TEST(Fill, ADeviceFilledBeyondTheOfferIsPickedLast) {
  auto offer = gpus(2, 2);
  offer.beyond = {2, 0};
  for (const auto policy : {kDistributed, kPacked}) {
    const auto preferred =
        preferred_allocation(offer, nullptr, policy, {.available = ids(offer), .size = 2});
    ASSERT_TRUE(preferred);
    EXPECT_THAT(preferred->ids, ElementsAre(g(1, 0), g(1, 1)));
  }
  offer.beyond = {1, 0};
  const auto packed =
      preferred_allocation(offer, nullptr, kPacked, {.available = ids(offer), .size = 2});
  ASSERT_TRUE(packed);
  EXPECT_THAT(packed->ids, ElementsAre(g(0, 0), g(1, 0)));
}

TEST(Alignment, UsesTheLinksAndExplains) {
  const Links links = links_of(8, 4);
  const ResourceOffer offer = gpus(8);
  const auto preferred = preferred_allocation(
      offer, &links, kPacked, {.available = ids(offer), .must_include = {g(5)}, .size = 4});
  ASSERT_TRUE(preferred);
  EXPECT_THAT(preferred->ids, ElementsAre(g(4), g(5), g(6), g(7)));
  EXPECT_EQ(
      preferred->reason,
      "aligned: GPU 4, 5, 6, 7: score 900, the best set in the best split of 8 free GPUs into "
      "sets of 4 (total 1800)");
}

TEST(Alignment, LinksMayBeInAnotherOrderOrIncomplete) {
  Links links;
  links.gpu_uuids = {g(3), "GPU-other", g(1)};
  links.topology = gpu::Topology(3);
  links.topology.set(0, 2, {gpu::P2pLevel::kSingleSwitch, 2});
  const ResourceOffer offer = gpus(4);
  const auto preferred =
      preferred_allocation(offer, &links, kPacked, {.available = ids(offer), .size = 2});
  ASSERT_TRUE(preferred);
  EXPECT_THAT(preferred->ids, ElementsAre(g(1), g(3)));
}

TEST(Alignment, WithoutLinksTheLowestIndices) {
  const ResourceOffer offer = gpus(4);
  const auto preferred = preferred_allocation(offer, nullptr, kDistributed,
                                              {.available = {g(3), g(1), g(2), g(2)}, .size = 2});
  ASSERT_TRUE(preferred);
  EXPECT_THAT(preferred->ids, ElementsAre(g(1), g(2)));
  EXPECT_THAT(preferred->reason, HasSubstr("links between GPUs are not known"));
}

TEST(Alignment, ImpossibleRequestsGetAnEmptyList) {
  struct Row {
    std::string name;
    PreferredRequest request;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {"too many", {{g(0), g(1)}, {}, 3}, "3 wanted, 0 of them fixed, 2 free"},
      {"none wanted", {{g(0)}, {}, 0}, "0 wanted"},
      {"negative", {{g(0)}, {}, -1}, "-1 wanted"},
      {"more fixed than wanted", {{g(0), g(1)}, {g(0), g(1)}, 1}, "1 wanted, 2 of them fixed"},
      {"fixed one is taken", {{g(0), g(1)}, {g(2)}, 2}, g(2) + " must be included and is not free"},
      {"fixed one is unknown", {{g(0), g(1)}, {"GPU-x"}, 2}, "unknown device GPU-x"},
      {"nothing free", {{}, {}, 1}, "0 free"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto preferred = preferred_allocation(gpus(4), nullptr, kDistributed, row.request);
    ASSERT_TRUE(preferred);
    EXPECT_THAT(preferred->ids, IsEmpty());
    EXPECT_THAT(preferred->reason, HasSubstr(row.reason));
  }
}

TEST(Alignment, UnknownIdsAreIgnored) {
  const auto preferred = preferred_allocation(gpus(2), nullptr, kDistributed,
                                              {.available = {"GPU-x", "", g(1)}, .size = 1});
  ASSERT_TRUE(preferred);
  EXPECT_THAT(preferred->ids, ElementsAre(g(1)));
  EXPECT_THAT(preferred->reason, HasSubstr("ignored 2 unknown ids"));
}

struct SpreadRow {
  std::string name;
  AllocationPolicy policy;
  std::vector<std::string> used;
  std::vector<std::string> must_include;
  int size;
  std::vector<std::string> expected;
};

// Two GPUs of four replicas each.
TEST(Spread, Replicas) {
  const std::vector<SpreadRow> rows = {
      {"distributed alternates", kDistributed, {}, {}, 3, {g(0, 0), g(1, 0), g(0, 1)}},
      {"distributed evens out",
       kDistributed,
       {g(0, 0), g(0, 2)},
       {},
       3,
       {g(1, 0), g(1, 1), g(0, 1)}},
      {"packed fills", kPacked, {g(1, 1)}, {}, 3, {g(1, 0), g(1, 2), g(1, 3)}},
      {"packed goes on", kPacked, {g(1, 0), g(1, 1), g(1, 2)}, {}, 2, {g(1, 3), g(0, 0)}},
      {"required counts as in use", kDistributed, {}, {g(0, 3)}, 2, {g(0, 3), g(1, 0)}},
      {"required attracts when packed", kPacked, {}, {g(1, 3)}, 2, {g(1, 3), g(1, 0)}},
      {"all of them",
       kPacked,
       {},
       {},
       8,
       {g(0, 0), g(0, 1), g(0, 2), g(0, 3), g(1, 0), g(1, 1), g(1, 2), g(1, 3)}},
      {"only what is required", kPacked, {}, {g(1, 1)}, 1, {g(1, 1)}},
  };
  const ResourceOffer offer = gpus(2, 4);
  for (const SpreadRow& row : rows) {
    SCOPED_TRACE(row.name);
    const auto preferred = preferred_allocation(offer, nullptr, row.policy,
                                                {.available = free_ids(offer, row.used),
                                                 .must_include = row.must_include,
                                                 .size = row.size});
    ASSERT_TRUE(preferred);
    EXPECT_EQ(preferred->ids, row.expected);
  }
}

// Equally full GPUs: the one picked least in this call comes first, also when packing.
TEST(Spread, PackedTieGoesToTheGpuPickedLeast) {
  const ResourceOffer offer = gpus(2, 4);
  const auto preferred = preferred_allocation(
      offer, nullptr, kPacked,
      {.available = {g(0, 3), g(1, 2), g(1, 3)}, .size = 2});  // GPU 0 has 3 in use, GPU 1 has 2
  ASSERT_TRUE(preferred);
  EXPECT_THAT(preferred->ids, ElementsAre(g(0, 3), g(1, 2)));
  EXPECT_EQ(preferred->reason,
            "packed: 1 from GPU 0 (3 of 4 were in use), 1 from GPU 1 (2 of 4 were in use)");
}

// NVIDIA's plugin counts per MIG instance, so the policy has no effect on them.
TEST(Spread, MigInstancesByTheGpuTheyLieOn) {
  const ResourceOffer offer =
      make_offer(machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb", "1g.5gb"}),
                             a100_40gb(1).mig({"1g.5gb", "1g.5gb", "1g.5gb"})}),
                 with_mig(config::MigStrategy::kMixed), {})
          .resources.at(0);
  const PreferredRequest request{.available = free_ids(offer, {mig_uuid(0, 0)}), .size = 2};
  EXPECT_THAT(preferred_allocation(offer, nullptr, kPacked, request)->ids,
              ElementsAre(mig_uuid(0, 1), mig_uuid(0, 2)));
  EXPECT_THAT(preferred_allocation(offer, nullptr, kDistributed, request)->ids,
              ElementsAre(mig_uuid(1, 0), mig_uuid(0, 1)));
}

TEST(Spread, SharedMigInstancesAreEvenedOutWithinTheirGpu) {
  const ResourceOffer offer =
      make_offer(machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb"})}),
                 with_mig(config::MigStrategy::kMixed, time_slicing({entry("mig-1g.5gb", 3)})), {})
          .resources.at(0);
  const PreferredRequest request{.available = free_ids(offer, {replica_id(mig_uuid(0, 0), 0)}),
                                 .size = 2};
  EXPECT_THAT(preferred_allocation(offer, nullptr, kDistributed, request)->ids,
              ElementsAre(replica_id(mig_uuid(0, 1), 0), replica_id(mig_uuid(0, 0), 1)));
  EXPECT_THAT(preferred_allocation(offer, nullptr, kPacked, request)->ids,
              ElementsAre(replica_id(mig_uuid(0, 0), 1), replica_id(mig_uuid(0, 0), 2)));
}

TEST(Spread, Refusals) {
  const ResourceOffer offer = gpus(1, 2);
  const auto refusal = [&](const PreferredRequest& request) {
    const auto preferred = preferred_allocation(offer, nullptr, kDistributed, request);
    return preferred ? "none" : preferred.error().what;
  };
  EXPECT_EQ(refusal({.available = ids(offer), .size = 3}),
            "not enough available devices to satisfy allocation");
  EXPECT_EQ(refusal({.available = {g(0, 0)}, .must_include = {g(0, 0)}, .size = 2}),
            "not enough available devices to satisfy allocation");
  EXPECT_EQ(refusal({.available = ids(offer), .must_include = ids(offer), .size = 1}),
            "an allocation of 1 cannot include 2 devices");
  EXPECT_EQ(refusal({.available = ids(offer), .must_include = {"GPU-x"}, .size = 1}),
            "unknown device: GPU-x");
}

}  // namespace
}  // namespace tranche::offer::preferred_test
