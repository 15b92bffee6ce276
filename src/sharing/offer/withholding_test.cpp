#include "offer/withholding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::offer::withholding_test {
namespace {

using test::a100_40gb;
using test::gpu_uuid;
using test::l20;
using test::machine_of;
using test::mig_uuid;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;  // NOLINT: the words of these tests

Holding held(const std::string& base, const std::string& id, Use use, int gpu = 0,
             const std::string& pod = "default/a") {
  const auto slash = pod.find('/');
  return {.device = std::string(device_uuid_of(id)),
          .gpu = gpu_uuid(gpu),
          .resource = resource(base),
          .id = id,
          .ns = pod.substr(0, slash),
          .pod = slash == pod.npos ? "" : pod.substr(slash + 1),
          .use = use};
}
Holding whole(const std::string& base, const std::string& id = gpu_uuid(0)) {
  return held(base, id, Use::kWhole);
}
std::vector<Holding> replicas(const std::string& base, const std::vector<int>& numbers,
                              Use use = Use::kTimeSliced) {
  std::vector<Holding> out;
  for (const int number : numbers) {
    out.push_back(
        held(base, replica_id(gpu_uuid(0), number), use, 0, fmt::format("default/{}", number)));
  }
  return out;
}

// The offer with what is withheld: "gpu.shared: +++-" for four tranches, the last one withheld.
std::string picture(const gpu::Machine& machine, const config::Config& config,
                    const std::vector<Holding>& held_now) {
  auto offer = make_offer(machine, config, {});
  withhold_held(find_at_odds(held_now, offer), offer);
  std::string out;
  for (const auto& resource : offer.resources) {
    out += (out.empty() ? "" : " ") + resource.name.base() + ":";
    for (const auto& tranche : resource.tranches) out += tranche.withheld ? '-' : '+';
  }
  return out;
}

config::Config shared(int count) { return time_slicing({entry("gpu", count, {}, "gpu.shared")}); }

struct Case {
  const char* name;
  config::Config config;
  std::vector<Holding> held_now;
  const char* expected;
};

TEST(Withholding, WithholdWhatDoesNotGoTogetherOnOneGpu) {
  const Case cases[] = {
      {"nothing is held", shared(4), {}, "gpu.shared:++++"},
      {"what is held is what is offered", shared(4), replicas("gpu.shared", {0, 1, 2, 3}),
       "gpu.shared:++++"},
      {"shared, now exclusive", {}, replicas("gpu.shared", {0, 3}), "gpu:-"},
      {"shared under the same name, now exclusive", {}, replicas("gpu", {0}), "gpu:-"},
      {"exclusive, now shared", shared(4), {whole("gpu")}, "gpu.shared:----"},
      {"exclusive, now shared under the same name",
       time_slicing({entry("gpu", 3)}),
       {whole("gpu")},
       "gpu:+++"},
      {"exclusive, now shared by MPS under the same name",
       mps({entry("gpu", 2)}),
       {whole("gpu")},
       "gpu:--"},
      {"exclusive as offered", {}, {whole("gpu")}, "gpu:+"},
      {"exclusive under another name", {}, {whole("a100")}, "gpu:-"},
      {"more replicas than before", shared(11), replicas("gpu.shared", {0, 1, 2, 3}),
       "gpu.shared:+++++++++++"},
      {"fewer replicas: kubelet counts the others", shared(4),
       replicas("gpu.shared", {0, 7, 9, 10}), "gpu.shared:++++"},
      {"shared under another name takes as many", time_slicing({entry("gpu", 4)}),
       replicas("gpu.shared", {0, 1, 2}), "gpu:+---"},
      {"under both names",
       time_slicing({entry("gpu", 4)}),
       {replicas("gpu.shared", {0})[0], replicas("gpu", {3})[0]},
       "gpu:++-+"},
      {"under both names, and nothing is free",
       time_slicing({entry("gpu", 2)}),
       {replicas("gpu.shared", {0})[0], replicas("gpu", {0})[0], replicas("gpu", {1})[0]},
       "gpu:++"},
      {"under another name by more than there are", time_slicing({entry("gpu", 2)}),
       replicas("gpu.shared", {0, 1, 2}), "gpu:--"},
      {"time-slicing, now MPS", mps({entry("gpu", 2)}), replicas("gpu", {0}), "gpu:--"},
      {"MPS, now time-slicing", time_slicing({entry("gpu", 2)}), replicas("gpu", {0}, Use::kMps),
       "gpu:--"},
      {"shared, by what is not known", mps({entry("gpu", 2)}), replicas("gpu", {0}, Use::kShared),
       "gpu:++"},
      {"another GPU", {}, {held("gpu.shared", gpu_uuid(1) + "::0", Use::kTimeSliced, 1)}, "gpu:+"},
      {"a device that is gone",
       {},
       {Holding{.device = "MIG-x", .resource = resource("gpu"), .id = "MIG-x"}},
       "gpu:+"},
  };
  const auto machine = machine_of({l20(0)});
  for (const auto& c : cases) {
    EXPECT_EQ(picture(machine, c.config, c.held_now), c.expected) << c.name;
  }
}

Holding keeping(Holding one, const std::string& tenant, std::optional<std::uint64_t> mib,
                std::uint32_t weight = 250, std::optional<std::uint32_t> permille = {}) {
  one.tenant = tenant;
  one.part = DeviceLimits{.uuid = gpu_uuid(0), .weight = weight, .permille = permille};
  if (mib) one.part->memory = Bytes::from_mib(*mib);
  return one;
}

TEST(Withholding, PartsThatAreKeptAndPartsThatAreOfferedAddUp) {
  auto machine = machine_of({l20(0)});
  machine.gpus[0].memory = Bytes::from_mib(1000);
  auto four = time_slicing({entry("gpu", 4)});
  four.tranche.limits.general = {.enforcement = Enforcement::kStrict};
  auto only_memory = four;
  only_memory.tranche.limits.general.compute = config::NoLimit{};
  auto more = four;
  more.tranche.limits.general.oversubscribe = true;
  auto counted = four;
  counted.tranche.limits.general.enforcement = Enforcement::kAccount;
  const auto old = replicas("gpu.shared", {0, 1});
  const auto held = replicas("gpu", {2, 3});
  const Case cases[] = {
      {"a quarter", four, {keeping(old[0], "t", 250)}, "gpu:+++-"},
      {"half", four, {keeping(old[0], "t", 500)}, "gpu:++--"},
      {"a MiB more than a quarter", four, {keeping(old[0], "t", 251)}, "gpu:++--"},
      {"less memory, more time", four, {keeping(old[0], "t", 100, 600, 600)}, "gpu:+---"},
      {"time does not have to add up",
       only_memory,
       {keeping(old[0], "t", 100, 600, 600)},
       "gpu:+++-"},
      {"two halves", four, {keeping(old[0], "t", 500), keeping(old[1], "u", 500)}, "gpu:----"},
      {"two tranches of one container",
       four,
       {keeping(old[0], "t", 500, 500), keeping(old[1], "t", 500, 500)},
       "gpu:++--"},
      {"all tranches, therefore no limit",
       four,
       {keeping(old[0], "t", {}, 1000), keeping(old[1], "t", {}, 1000)},
       "gpu:----"},
      {"no limit of memory, and half of the time",
       four,
       {keeping(old[0], "t", {}, 500)},
       "gpu:++--"},
      {"no limits", four, {old[0]}, "gpu:+++-"},
      {"what is held is not taken away",
       four,
       {keeping(old[0], "t", 750), held[0], held[1]},
       "gpu:--++"},
      {"more than the device is allowed", more, {keeping(old[0], "t", 500)}, "gpu:+++-"},
      {"the new limits are not enforced", counted, {keeping(old[0], "t", 500)}, "gpu:+++-"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(picture(machine, c.config, c.held_now), c.expected) << c.name;
  }
}

TEST(Withholding, CountWhatIsHeldBeyondTheOffer) {
  const auto offer = make_offer(machine_of({l20(0), l20(1)}), shared(4), {});
  EXPECT_THAT(count_beyond(replicas("gpu.shared", {0, 3}), offer), IsEmpty());
  auto held_now = replicas("gpu.shared", {0, 4, 10});
  const auto beyond = count_beyond(held_now, offer);
  EXPECT_THAT(beyond.at(resource("gpu.shared")), ::testing::ElementsAre(2, 0));
  held_now.push_back(held("gpu.shared", gpu_uuid(1), Use::kWhole, 1));
  EXPECT_THAT(count_beyond(held_now, offer).at(resource("gpu.shared")),
              ::testing::ElementsAre(2, 1))
      << "a whole GPU counts as one of its replicas";
}

TEST(Withholding, AGpuAndItsInstancesAreTheSameSilicon) {
  const auto mig = machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb"})});
  const auto mixed = with_mig(config::MigStrategy::kMixed);
  const auto instance = held("mig-1g.5gb", mig_uuid(0, 0), Use::kWhole);
  EXPECT_EQ(picture(mig, mixed, {instance}), "mig-1g.5gb:++");
  EXPECT_EQ(picture(mig, mixed, {whole("gpu")}), "mig-1g.5gb:--");
  EXPECT_EQ(picture(mig, {}, {instance}), "gpu:-") << "strategy none offers the GPU";
  EXPECT_EQ(picture(mig, with_mig(config::MigStrategy::kSingle), {instance}), "gpu:-+")
      << "under another name";
}

TEST(Withholding, OnlyTheDeviceThatIsHeldIsWithheld) {
  const auto machine = machine_of({l20(0), l20(1)});
  EXPECT_EQ(picture(machine, {}, replicas("gpu.shared", {0})), "gpu:-+");
  EXPECT_EQ(picture(machine, shared(2), {whole("gpu")}), "gpu.shared:--++");
}

TEST(Withholding, WhatIsWithheldStaysSoWhileTheRestIsHandedOut) {
  const auto machine = machine_of({l20(0)});
  const auto four = time_slicing({entry("gpu", 4)});
  auto held_now = replicas("gpu.shared", {0, 1});
  EXPECT_EQ(picture(machine, four, held_now), "gpu:++--");
  for (const int number : {0, 1}) held_now.push_back(replicas("gpu", {number})[0]);
  EXPECT_EQ(picture(machine, four, held_now), "gpu:++--");
}

TEST(Withholding, AreNotCarriedWhileNothingIsAtOdds) {
  const auto machine = machine_of({l20(0), l20(1)});
  const auto offer = make_offer(machine, shared(4), {});
  EXPECT_THAT(find_at_odds(replicas("gpu.shared", {0, 1, 2, 9}), offer), IsEmpty());
}

TEST(Withholding, AWithheldDeviceIsHealthyAndSaysWhoHoldsIt) {
  auto offer = make_offer(machine_of({l20(0)}), {}, {});
  withhold_held(replicas("gpu.shared", {0, 1}), offer);
  EXPECT_TRUE(offer.resources[0].devices[0].healthy());
  ASSERT_EQ(offer.held.size(), 1U);
  EXPECT_EQ(describe(offer.held[0]),
            "nvidia.com/gpu on GPU 0 (" + gpu_uuid(0) +
                ") is held as nvidia.com/gpu.shared by default/0, default/1");
}

TEST(Withholding, SayHowMuchOfADeviceIsWithheld) {
  auto offer = make_offer(machine_of({l20(0)}), time_slicing({entry("gpu", 4)}), {});
  withhold_held(replicas("gpu.shared", {0, 1}), offer);
  ASSERT_EQ(offer.held.size(), 1U);
  EXPECT_THAT(describe(offer.held[0]),
              HasSubstr("2 of 4 tranches of nvidia.com/gpu on GPU 0 (" + gpu_uuid(0) +
                        ") are held as nvidia.com/gpu.shared by default/0"));
}

}  // namespace
}  // namespace tranche::offer::withholding_test
