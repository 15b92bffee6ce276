// The published configurations of tests/data/scenarios as Config values, and the offer of each on
// its machine (EXPECT.md there). Other tests parse those files.

#include <gtest/gtest.h>

#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::offer::offer_scenarios_test {
namespace {

using config::MigStrategy;
using test::a100_40gb;
using test::l20;
using test::machine_of;
using test::t4;
using namespace testing;  // NOLINT: the words of these tests

config::Config a100_key() {
  return time_slicing({entry("gpu", 8), entry("mig-1g.5gb", 2), entry("mig-2g.10gb", 2),
                       entry("mig-3g.20gb", 3), entry("mig-7g.40gb", 7)});
}

config::Config shared(int replicas, bool one_only) {
  return time_slicing({entry("gpu", replicas, {}, "gpu.shared")}, one_only);
}

struct Scenario {
  std::string key;
  gpu::Machine machine;
  config::Config config;
  std::string expected;
  bool one_only = false;  // of the first resource
};

TEST(Scenarios, EachKeyGivesItsTranches) {
  const gpu::Machine mig =
      machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"})});
  const std::vector<Scenario> scenarios = {
      {"any on the L20 node", machine_of({l20(0)}), time_slicing({entry("gpu", 2)}, true), "gpu=2",
       true},
      {"any on the T4 node", machine_of({t4(0)}), time_slicing({entry("gpu", 2)}, true), "gpu=2",
       true},
      {"l20", machine_of({l20(0)}), time_slicing({entry("gpu", 8)}, true), "gpu=8", true},
      {"t4", machine_of({t4(0)}), time_slicing({entry("gpu", 3)}, true), "gpu=3", true},
      {"a100-40gb, MIG off", machine_of({a100_40gb(0)}), a100_key(), "gpu=8"},
      {"a100-40gb, mixed", mig, with_mig(MigStrategy::kMixed, a100_key()),
       "mig-1g.5gb=4 mig-2g.10gb=2 mig-3g.20gb=3"},
      {"tesla-t4", machine_of({t4(0)}), time_slicing({entry("gpu", 4)}), "gpu=4"},
      {"timeslice-4", machine_of({t4(0)}), shared(4, true), "gpu.shared=4", true},
      {"default", machine_of(4, a100_40gb), shared(4, true), "gpu.shared=16", true},
      {"training", machine_of(4, a100_40gb), time_slicing({entry("gpu", 1)}), "gpu=4"},
      {"inference", machine_of(4, a100_40gb), shared(4, false), "gpu.shared=16"},
      {"development", machine_of(4, a100_40gb), shared(8, true), "gpu.shared=32", true},
  };
  for (const Scenario& scenario : scenarios) {
    SCOPED_TRACE(scenario.key);
    const Offer offer = make_offer(scenario.machine, scenario.config, {});
    EXPECT_EQ(summary(offer), scenario.expected);
    EXPECT_EQ(offer.resources.at(0).fail_requests_greater_than_one, scenario.one_only);
  }
}

TEST(Scenarios, TwoNodesGiveElevenTranches) {
  const auto count = [](const gpu::Machine& machine, int replicas) {
    return make_offer(machine, time_slicing({entry("gpu", replicas)}, true), {})
        .resources.at(0)
        .tranches.size();
  };
  EXPECT_EQ(count(machine_of({l20(0)}), 8) + count(machine_of({t4(0)}), 3), 11U);
}

// H20 of the rollout's outlook: MIG first, then time-slicing on a profile.
TEST(Scenarios, TimeSlicingOnAProfile) {
  const gpu::Machine h20 = machine_of(
      {test::GpuBuilder(0, "NVIDIA H20", 97871, {9, 0})
           .mig({"1g.12gb", "1g.12gb", "1g.12gb", "1g.12gb", "1g.12gb", "1g.12gb", "1g.12gb"})});
  const Offer offer =
      make_offer(h20, with_mig(MigStrategy::kMixed, time_slicing({entry("mig-1g.12gb", 2)})), {});
  EXPECT_EQ(summary(offer), "mig-1g.12gb=14");
}

}  // namespace
}  // namespace tranche::offer::offer_scenarios_test
