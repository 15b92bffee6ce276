#include "offer/promises.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::offer::promises_test {
namespace {

using test::a100_40gb;
using test::gpu_uuid;
using test::l20;
using test::machine_of;
using test::mig_uuid;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace testing;  // NOLINT: the words of these tests

Promise held(const std::string& base, const std::string& id, Use use, int gpu = 0,
             const std::string& pod = "default/a") {
  return {.resource = resource(base), .id = id, .use = use, .gpu_uuid = gpu_uuid(gpu), .pod = pod};
}
Promise whole(const std::string& base, const std::string& id = gpu_uuid(0)) {
  return held(base, id, Use::kWhole);
}
std::vector<Promise> replicas(const std::string& base, const std::vector<int>& numbers,
                              Use use = Use::kTimeSliced) {
  std::vector<Promise> out;
  for (const int number : numbers) {
    out.push_back(
        held(base, replica_id(gpu_uuid(0), number), use, 0, fmt::format("default/{}", number)));
  }
  return out;
}

// The offer with what is withheld: "gpu.shared: +++-" for four tranches, the last one withheld.
std::string picture(const gpu::Machine& machine, const config::Config& config,
                    const std::vector<Promise>& promises) {
  auto offer = make_offer(machine, config, {});
  withhold_promised(find_at_odds(promises, offer), offer);
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
  std::vector<Promise> promises;
  const char* expected;
};

TEST(Promises, WithholdWhatDoesNotGoTogetherOnOneGpu) {
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
      {"a device that is gone", {}, {Promise{resource("gpu"), "MIG-x", Use::kWhole}}, "gpu:+"},
  };
  const auto machine = machine_of({l20(0)});
  for (const auto& c : cases) {
    EXPECT_EQ(picture(machine, c.config, c.promises), c.expected) << c.name;
  }
}

Promise keeping(Promise promise, const std::string& tenant, std::optional<std::uint64_t> mib,
                std::uint32_t weight = 250, std::optional<std::uint32_t> permille = {}) {
  promise.tenant = tenant;
  promise.part = DeviceLimits{.uuid = gpu_uuid(0), .weight = weight, .permille = permille};
  if (mib) promise.part->memory = Bytes::from_mib(*mib);
  return promise;
}

TEST(Promises, PartsThatAreKeptAndPartsThatAreOfferedAddUp) {
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
    EXPECT_EQ(picture(machine, c.config, c.promises), c.expected) << c.name;
  }
}

TEST(Promises, CountWhatIsHeldBeyondTheOffer) {
  const auto offer = make_offer(machine_of({l20(0), l20(1)}), shared(4), {});
  EXPECT_THAT(count_beyond(replicas("gpu.shared", {0, 3}), offer), IsEmpty());
  auto promises = replicas("gpu.shared", {0, 4, 10});
  const auto beyond = count_beyond(promises, offer);
  EXPECT_THAT(beyond.at(resource("gpu.shared")), ::testing::ElementsAre(2, 0));
  promises.push_back(held("gpu.shared", gpu_uuid(1), Use::kWhole, 1));
  EXPECT_THAT(count_beyond(promises, offer).at(resource("gpu.shared")),
              ::testing::ElementsAre(2, 1))
      << "a whole GPU counts as one of its replicas";
}

TEST(Promises, AGpuAndItsInstancesAreTheSameSilicon) {
  const auto mig = machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb"})});
  const auto mixed = with_mig(config::MigStrategy::kMixed);
  const auto instance = held("mig-1g.5gb", mig_uuid(0, 0), Use::kWhole);
  EXPECT_EQ(picture(mig, mixed, {instance}), "mig-1g.5gb:++");
  EXPECT_EQ(picture(mig, mixed, {whole("gpu")}), "mig-1g.5gb:--");
  EXPECT_EQ(picture(mig, {}, {instance}), "gpu:-") << "strategy none offers the GPU";
  EXPECT_EQ(picture(mig, with_mig(config::MigStrategy::kSingle), {instance}), "gpu:-+")
      << "under another name";
}

TEST(Promises, OnlyTheDeviceThatIsHeldIsWithheld) {
  const auto machine = machine_of({l20(0), l20(1)});
  EXPECT_EQ(picture(machine, {}, replicas("gpu.shared", {0})), "gpu:-+");
  EXPECT_EQ(picture(machine, shared(2), {whole("gpu")}), "gpu.shared:--++");
}

TEST(Promises, WhatIsWithheldStaysSoWhileTheRestIsHandedOut) {
  const auto machine = machine_of({l20(0)});
  const auto four = time_slicing({entry("gpu", 4)});
  auto promises = replicas("gpu.shared", {0, 1});
  EXPECT_EQ(picture(machine, four, promises), "gpu:++--");
  for (const int number : {0, 1}) promises.push_back(replicas("gpu", {number})[0]);
  EXPECT_EQ(picture(machine, four, promises), "gpu:++--");
}

TEST(Promises, AreNotCarriedWhileNothingIsAtOdds) {
  const auto machine = machine_of({l20(0), l20(1)});
  const auto offer = make_offer(machine, shared(4), {});
  EXPECT_THAT(find_at_odds(replicas("gpu.shared", {0, 1, 2, 9}), offer), IsEmpty());
}

TEST(Promises, AWithheldDeviceIsHealthyAndSaysWhoHoldsIt) {
  auto offer = make_offer(machine_of({l20(0)}), {}, {});
  withhold_promised(replicas("gpu.shared", {0, 1}), offer);
  EXPECT_TRUE(offer.resources[0].devices[0].healthy());
  ASSERT_EQ(offer.held.size(), 1U);
  EXPECT_EQ(describe(offer.held[0]),
            "nvidia.com/gpu on GPU 0 (" + gpu_uuid(0) +
                ") is held as nvidia.com/gpu.shared by default/0, default/1");
}

TEST(Promises, SayHowMuchOfADeviceIsWithheld) {
  auto offer = make_offer(machine_of({l20(0)}), time_slicing({entry("gpu", 4)}), {});
  withhold_promised(replicas("gpu.shared", {0, 1}), offer);
  ASSERT_EQ(offer.held.size(), 1U);
  EXPECT_THAT(describe(offer.held[0]),
              HasSubstr("2 of 4 tranches of nvidia.com/gpu on GPU 0 (" + gpu_uuid(0) +
                        ") are held as nvidia.com/gpu.shared by default/0"));
}

TEST(Promises, NameSixteenPodsAtMost) {
  std::vector<int> numbers(40);
  std::iota(numbers.begin(), numbers.end(), 10);
  const auto text = describe_holders(replicas("gpu.shared", numbers));
  EXPECT_THAT(text, HasSubstr("default/10, default/11"));
  EXPECT_THAT(text, HasSubstr("default/25 and 24 more"));
  EXPECT_THAT(text, Not(HasSubstr("default/26")));
}

}  // namespace
}  // namespace tranche::offer::promises_test
