#include "agent/notices/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/mps.h"

namespace tranche::agent::report_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

offer::ResourceOffer resource(const std::string& name, int devices, int replicas) {
  offer::ResourceOffer out;
  out.name = {name};
  if (replicas > 1) out.sharing = config::SharingStrategy::kTimeSlicing;
  for (int d = 0; d < devices; ++d) {
    const auto uuid = "GPU-" + std::to_string(d);
    out.devices.push_back({.uuid = uuid});
    for (int r = 0; r < replicas; ++r) {
      out.tranches.push_back({offer::replica_id(uuid, r), static_cast<std::size_t>(d)});
    }
  }
  return out;
}

TEST(DescribeChanges, SaysNothingWhenNothingChanged) {
  const offer::Offer same{.resources = {resource("nvidia.com/gpu", 2, 4)}};
  EXPECT_THAT(describe_changes(same, same), IsEmpty());
}

TEST(DescribeChanges, NamesWhatCameWentAndGrew) {
  const offer::Offer none;
  const offer::Offer one{.resources = {resource("nvidia.com/gpu", 1, 1)}};
  const offer::Offer eight{.resources = {resource("nvidia.com/gpu", 1, 8)}};
  EXPECT_THAT(describe_changes(none, one),
              ElementsAre(ReportLine{false, "advertising nvidia.com/gpu: 1 tranche on 1 device"}));
  EXPECT_THAT(
      describe_changes(one, eight),
      ElementsAre(ReportLine{false,
                             "advertising nvidia.com/gpu: 8 tranches on 1 device (time-slicing), "
                             "was 1 tranche on 1 device"}));
  EXPECT_THAT(describe_changes(one, none),
              ElementsAre(ReportLine{
                  false, "no longer advertising nvidia.com/gpu; Pods that hold it keep it"}));
}

TEST(DescribeChanges, SaysEachDevicesHealthOnce) {
  const offer::Offer good{.resources = {resource("nvidia.com/gpu", 2, 1)}};
  auto bad = good;
  bad.resources[0].devices[1].unhealthy_reason = "XID 79";
  EXPECT_THAT(describe_changes(good, bad),
              ElementsAre(ReportLine{true, "GPU-1 is unhealthy: XID 79"}));
  EXPECT_THAT(describe_changes(bad, bad), IsEmpty());
  EXPECT_THAT(describe_changes(bad, good),
              ElementsAre(ReportLine{false, "GPU-1 is healthy again"}));
}

TEST(DescribeChanges, SaysWhatIsWithheldAndNewWarningsOnce) {
  const offer::Offer before{.warnings = {"old"}};
  const offer::Offer after{.withheld = {{{"nvidia.com/gpu"}, "why; what to do"}},
                           .warnings = {"old", "new"}};
  EXPECT_THAT(describe_changes(before, after),
              ElementsAre(ReportLine{true, "not advertising nvidia.com/gpu: why; what to do"},
                          ReportLine{true, "new"}));
  EXPECT_THAT(describe_changes(after, after), IsEmpty());
}

TEST(DescribeOrphans, NamesGrantsThatAreNoLongerOffered) {
  const offer::Offer two{.resources = {resource("nvidia.com/gpu", 1, 2)}};
  offer::GrantRecord kept;
  kept.grant.resource = {"nvidia.com/gpu"};
  kept.grant.ids = {"GPU-0::1"};
  auto orphan = kept;
  orphan.grant.ids = {"GPU-0::7"};
  EXPECT_EQ(describe_orphans({kept}, two), "");
  EXPECT_EQ(describe_orphans({kept, orphan}, two),
            "1 tranche still granted and no longer offered: GPU-0::7 of nvidia.com/gpu; the "
            "containers keep it");
}

config::Limits strict() { return {.enforcement = Enforcement::kStrict}; }

TEST(DescribeChanges, NamesLimitsAndTheirChange) {
  const offer::Offer off{.resources = {resource("nvidia.com/gpu", 1, 4)}};
  auto on = off;
  on.resources[0].limits = offer::OfferLimits{strict(), {4}};
  EXPECT_THAT(describe_changes(off, on),
              ElementsAre(ReportLine{
                  false,
                  "advertising nvidia.com/gpu: 4 tranches on 1 device (time-slicing), limits "
                  "strict: memory equal, compute equal, was 4 tranches on 1 device "
                  "(time-slicing)"}));
}

TEST(DescribeLimits, OffIsSaidWithWhatItMeans) {
  config::Config config;
  EXPECT_EQ(describe_limits(config),
            "limits: off, as with NVIDIA's plugin; tranche.limits sets them");
  config.sharing.time_slicing = {.resources = {{.name = {"nvidia.com/gpu"}, .replicas = 2}}};
  EXPECT_EQ(describe_limits(config),
            "limits: off, as with NVIDIA's plugin: one container can take all of a shared GPU's "
            "memory and time; tranche.limits sets them");
}

TEST(DescribeLimits, NamesEveryEntry) {
  config::Config config;
  config.tranche.limits.resources = {{{"nvidia.com/gpu.shared"}, strict(), 3}};
  auto& entry = config.tranche.limits.resources[0].limits;
  entry.memory = Bytes::from_mib(4096);
  entry.policy = config::SharePolicy::kPriority;
  entry.oversubscribe = true;
  EXPECT_EQ(describe_limits(config),
            "limits: nvidia.com/gpu.shared strict: memory 4Gi, compute equal, priority normal, "
            "oversubscribed; others off");
  config.tranche.limits = {.general = strict()};
  EXPECT_EQ(describe_limits(config), "limits: every resource strict: memory equal, compute equal");
}

TEST(DescribeUnlimited, NamesGrantsFromBeforeTheLimits) {
  offer::Offer offer{.resources = {resource("nvidia.com/gpu", 1, 4)}};
  offer::GrantRecord before;
  before.grant.resource = {"nvidia.com/gpu"};
  before.grant.ids = {"GPU-0::1", "GPU-0::2"};
  auto tenant = before;
  tenant.grant.tenant = "t";
  EXPECT_EQ(describe_unlimited({before}, offer), "");
  offer.resources[0].limits = offer::OfferLimits{strict(), {4}};
  EXPECT_EQ(describe_unlimited({before, tenant}, offer),
            "1 grant given out before there were limits, and not limited: GPU-0::1+GPU-0::2 of "
            "nvidia.com/gpu; delete the Pods, so that new ones are");
}

TEST(DescribeStaleMps, NamesGrantsThatNoDaemonServes) {
  offer::Offer offer{.resources = {resource("nvidia.com/gpu", 1, 4)}};
  auto& shared = offer.resources[0];
  const auto given = [&](int replica) {
    offer::GrantRecord record;
    record.grant.resource = {"nvidia.com/gpu"};
    record.grant.ids = {offer::replica_id("GPU-0", replica)};
    offer::add_mps(shared, record.grant.ids, "/r", record.grant);
    return record;
  };
  shared.sharing = config::SharingStrategy::kMps;
  const auto by_variables = given(1);
  EXPECT_EQ(describe_stale_mps({by_variables}, offer), "");
  shared.mps.namespaces = true;
  const auto by_namespace = given(2);
  EXPECT_EQ(
      describe_stale_mps({by_variables, by_namespace}, offer),
      "1 grant given out for MPS as it is no longer served (another sharing or tranche.mps, or a "
      "daemon that was started anew): GPU-0::1 of nvidia.com/gpu; their processes get no GPU: "
      "delete the Pods");

  shared.mps.partitions = {{"GPU-0::2", "GPU-0/a"}};
  const auto cut = given(2);
  EXPECT_EQ(describe_stale_mps({cut}, offer), "");
  EXPECT_NE(describe_stale_mps({by_namespace}, offer), "") << "it has no partition";
  shared.mps.partitions = {{"GPU-0::2", "GPU-0/b"}};
  EXPECT_NE(describe_stale_mps({cut}, offer), "") << "it has one of before";
  shared.mps = {};
  EXPECT_NE(describe_stale_mps({by_namespace}, offer), "");
}

TEST(InUse, AGrantWithoutAContainerIsNobodys) {
  offer::GrantRecord record;
  record.grant.resource = {"nvidia.com/gpu"};
  record.grant.ids = {"GPU-0::0", "GPU-0::1"};
  holdings::Holding held{.resource = {"nvidia.com/gpu"}, .id = "GPU-0::1"};
  EXPECT_TRUE(in_use({record}, {}).empty());
  EXPECT_TRUE(in_use({record}, {held}).empty()) << "its Pod is gone, or kubelet has not named it";
  held.pod = "a";
  EXPECT_EQ(in_use({record}, {held}).size(), 1U);
  held.resource = {"nvidia.com/gpu.shared"};
  EXPECT_TRUE(in_use({record}, {held}).empty());
}

TEST(DescribeStaleMps, TheDefaultNamespaceIsAlwaysThere) {
  offer::Offer offer{.resources = {resource("nvidia.com/gpu", 1, 4)}};
  offer::GrantRecord record;
  record.grant.resource = {"nvidia.com/gpu"};
  record.grant.ids = {"GPU-0::0"};
  auto& shared = offer.resources[0];
  shared.sharing = config::SharingStrategy::kMps;
  shared.mps.namespaces = true;
  offer::add_mps(shared, record.grant.ids, "/r", record.grant);
  shared.limits = offer::OfferLimits{strict(), {4}};  // from now on: tranches_1
  EXPECT_EQ(describe_stale_mps({record}, offer), "");
}

TEST(DescribeStaleMps, GrantsOfTimeSlicingWereNeverServedByMps) {
  offer::Offer offer{.resources = {resource("nvidia.com/gpu", 1, 4)}};
  offer::GrantRecord sliced;
  sliced.grant.resource = {"nvidia.com/gpu"};
  sliced.grant.ids = {"GPU-0::1"};
  EXPECT_EQ(describe_before_mps({sliced}, offer), "");
  offer.resources[0].sharing = config::SharingStrategy::kMps;
  EXPECT_EQ(describe_stale_mps({sliced}, offer), "");
  EXPECT_EQ(describe_before_mps({sliced}, offer),
            "1 grant given out before MPS served its resource: GPU-0::1 of nvidia.com/gpu; its "
            "processes are no clients of MPS, and the GPU takes no others: delete the Pods");
  offer::add_mps(offer.resources[0], sliced.grant.ids, "/r", sliced.grant);
  EXPECT_EQ(describe_before_mps({sliced}, offer), "");
}

TEST(DescribeStaleMps, ClientsOfMpsThatNoLongerServesAreNamed) {
  offer::Offer offer{.resources = {resource("nvidia.com/gpu", 1, 4)}};
  offer.resources[0].sharing = config::SharingStrategy::kMps;
  offer::GrantRecord client;
  client.grant.resource = {"nvidia.com/gpu"};
  client.grant.ids = {"GPU-0::1"};
  offer::add_mps(offer.resources[0], client.grant.ids, "/r", client.grant);
  EXPECT_EQ(describe_stale_mps({client}, offer), "");
  const auto by_mps = offer;
  offer.resources[0].sharing = config::SharingStrategy::kTimeSlicing;
  EXPECT_NE(describe_stale_mps({client}, offer), "") << "shared otherwise now";
  offer.resources.clear();
  EXPECT_NE(describe_stale_mps({client}, offer), "") << "the resource has another name now";
  offer.withheld = {{{"nvidia.com/gpu"}, "its daemon does not serve yet"}};
  EXPECT_EQ(describe_stale_mps({client}, offer), "") << "it may be served again";
}

}  // namespace
}  // namespace tranche::agent::report_test
