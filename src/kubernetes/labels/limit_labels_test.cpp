#include "labels/limit_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/make_offer.h"
#include "support/machines.h"

namespace tranche::labels::limit_labels_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

config::Config limited(Enforcement enforcement) {
  config::Config config;
  config.flags.mig_strategy = config::MigStrategy::kMixed;
  config.sharing.time_slicing = {
      .resources = {{.name = {"nvidia.com/gpu"},
                     .rename = config::ResourceName{"nvidia.com/gpu.shared"},
                     .replicas = 4},
                    {.name = {"nvidia.com/mig-1g.5gb"}, .replicas = 2}}};
  config.tranche.limits.general.enforcement = enforcement;
  return config;
}

Labels labels_under(Enforcement enforcement) {
  const auto machine =
      test::machine_of({test::a100_40gb(0), test::a100_40gb(1).mig({"1g.5gb", "2g.10gb"})});
  return limit_labels(offer::make_offer(machine, limited(enforcement), {}));
}

TEST(LimitLabels, NameEnforcementAndEnforcerOfEachResource) {
  EXPECT_THAT(labels_under(Enforcement::kElastic),
              ElementsAre(Pair("tranche.dev/gpu.shared.limits", "elastic"),
                          Pair("tranche.dev/gpu.shared.limits-by", "limiter"),
                          Pair("tranche.dev/mig-1g.5gb.limits", "elastic"),
                          Pair("tranche.dev/mig-1g.5gb.limits-by", "limiter"),
                          Pair("tranche.dev/mig-2g.10gb.limits", "elastic"),
                          Pair("tranche.dev/mig-2g.10gb.limits-by", "mig")));
}

TEST(LimitLabels, WhereDevicesDifferTheWeakestEnforcerIsSaid) {
  auto machine = test::machine_of(2, test::l20);
  machine.host.cgroup_v2 = true;
  auto config = limited(Enforcement::kStrict);
  config.tranche.limits.general.kernel_limits = true;
  for (const std::string expected : {"limiter", "limiter", "kernel"}) {
    const auto labels = limit_labels(offer::make_offer(machine, config, {}));
    EXPECT_EQ(labels.at("tranche.dev/gpu.shared.limits-by"), expected);
    auto& next = machine.gpus[machine.gpus[0].kernel_memory_limits ? 1 : 0];
    next.kernel_memory_limits = true;
  }
}

TEST(LimitLabels, OfMpsNameIt) {
  config::Config config;
  config.sharing.mps = {.resources = {{.name = {"nvidia.com/gpu"}, .replicas = 4}}};
  config.tranche.limits.general.enforcement = Enforcement::kStrict;
  const auto offer = offer::make_offer(test::machine_of({test::a100_40gb(0)}), config, {});
  EXPECT_THAT(limit_labels(offer), ElementsAre(Pair("tranche.dev/gpu.limits", "strict"),
                                               Pair("tranche.dev/gpu.limits-by", "mps")));
}

TEST(LimitLabels, AreNoneWithoutLimits) { EXPECT_THAT(labels_under(Enforcement::kOff), IsEmpty()); }

// A resource name has at most 63 characters, and so has the name of a label.
TEST(LimitLabels, OfTheLongestResourceAreLabelsStill) {
  offer::Offer offer;
  offer.resources.resize(1);
  offer.resources[0].name = {"nvidia.com/" + std::string(52, 'x')};
  offer.resources[0].limits = offer::OfferLimits{{.enforcement = Enforcement::kStrict}, {}};
  for (const auto& [key, value] : limit_labels(offer)) {
    EXPECT_LE(key.size() - std::string("tranche.dev/").size(), 63U) << key;
  }
}

}  // namespace
}  // namespace tranche::labels::limit_labels_test
