#include "offer/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "offer/grant.h"
#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::offer::limits_test {
namespace {

using config::Limits;
using config::NoLimit;
using config::Percent;
using test::a100_40gb;
using test::gpu_uuid;
using test::l20;
using test::machine_of;
using test::mig_uuid;
using test::t4;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace testing;  // NOLINT: the words of these tests

constexpr Bytes gib(std::uint64_t count) { return Bytes::from_mib(count * 1024); }

// GPUs of 1000 MiB, so that parts are easy to see.
gpu::Machine machine(int gpus = 1) {
  auto out = machine_of(gpus, l20);
  for (auto& gpu : out.gpus) gpu.memory = Bytes::from_mib(1000);
  return out;
}

Limits strict(config::MemoryLimit memory = config::EqualPart{},
              config::ComputeLimit compute = config::EqualPart{}) {
  return {.enforcement = Enforcement::kStrict, .memory = memory, .compute = compute};
}

config::Config limited(const Limits& general, int replicas = 4,
                       std::vector<config::ResourceLimits> entries = {}) {
  auto config = time_slicing({entry("gpu", replicas)});
  config.tranche.limits = {.general = general, .resources = std::move(entries), .line = 7};
  return config;
}

Offer offered(const config::Config& config, const gpu::Machine& hardware = machine()) {
  return make_offer(hardware, config, {});
}

std::string replica(int gpu, int number) { return replica_id(gpu_uuid(gpu), number); }

// The limits of a container with `tranches` of GPU 0.
DeviceLimits part(const Limits& rules, int replicas, int tranches) {
  const auto offer = offered(limited(rules, replicas));
  std::vector<std::string> ids;
  for (int i = 0; i < tranches; ++i)
    ids.push_back(offer.resources.at(0).tranches.at(static_cast<std::size_t>(i)).id);
  return limits_for(offer.resources[0], ids).value().devices.at(0);
}

struct Row {
  const char* name;
  Limits rules;
  int replicas;
  int tranches;
  std::optional<Bytes> memory;
  std::uint32_t weight;
  std::optional<std::uint32_t> permille;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Parts : public ::testing::TestWithParam<Row> {};

TEST_P(Parts, AddUp) {
  const auto& row = GetParam();
  EXPECT_EQ(part(row.rules, row.replicas, row.tranches),
            (DeviceLimits{gpu_uuid(0), row.memory, row.weight, row.permille}));
}

Limits oversubscribed(Limits rules) {
  rules.oversubscribe = true;
  return rules;
}

const auto kNone = std::optional<Bytes>();
constexpr Bytes mib(std::uint64_t count) { return Bytes::from_mib(count); }

INSTANTIATE_TEST_SUITE_P(
    Forms, Parts,
    ::testing::Values(
        Row{"a_quarter", strict(), 4, 1, mib(250), 250, 250},
        Row{"three_quarters", strict(), 4, 3, mib(750), 750, 750},
        Row{"all_of_it", strict(), 4, 4, kNone, 1000, {}},
        Row{"whole_mib", strict(), 3, 1, mib(333), 333, 333},
        Row{"thirds_add_up", strict(), 3, 2, mib(666), 666, 666},
        Row{"all_thirds", strict(), 3, 3, kNone, 1000, {}},
        Row{"not_shared", strict(), 1, 1, kNone, 1000, {}},
        Row{"percent", strict(Percent{100}, Percent{50}), 4, 1, mib(100), 50, 50},
        Row{"two_of_percent", strict(Percent{100}, Percent{50}), 4, 2, mib(200), 100, 100},
        Row{"percent_of_a_whole_gpu", strict(Percent{500}, Percent{500}), 1, 1, mib(500), 500, 500},
        Row{"all_percent", strict(Percent{1000}, Percent{1000}), 1, 1, kNone, 1000, {}},
        Row{"all_percent_of_several", oversubscribed(strict(Percent{1000})), 2, 1, kNone, 500, 500},
        Row{"quantity", strict(mib(100)), 4, 2, mib(200), 500, 500},
        Row{"quantity_of_a_whole_gpu", strict(mib(100)), 1, 1, mib(100), 1000, {}},
        Row{"no_limit", strict(NoLimit{}, NoLimit{}), 4, 1, kNone, 250, {}},
        Row{"more_than_there_is",
            oversubscribed(strict(mib(2000), Percent{600})),
            2,
            2,
            kNone,
            1000,
            {}},
        Row{"oversubscribed", oversubscribed(strict(mib(600), Percent{600})), 2, 1, mib(600), 600,
            600},
        Row{"tiny_share", strict(NoLimit{}), 5000, 1, kNone, 1, 1}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(GrantLimits, NameEachDeviceOnceInTheOrderOfTheRequest) {
  const auto offer = offered(limited(strict()), machine(2));
  const std::vector<std::string> ids = {replica(1, 0), replica(0, 3), replica(1, 2)};
  const auto limits = limits_for(offer.resources[0], ids);
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->enforcement, Enforcement::kStrict);
  EXPECT_EQ(limits->priority, Priority::kNormal);
  EXPECT_THAT(limits->devices, ElementsAre(DeviceLimits{gpu_uuid(1), mib(500), 500, 500},
                                           DeviceLimits{gpu_uuid(0), mib(250), 250, 250}));
}

TEST(GrantLimits, AreNoneForIdsThatAreNotOffered) {
  const auto offer = offered(limited(strict()));
  for (const auto& id : {replica(0, 4), replica(1, 0), gpu_uuid(0), gpu_uuid(0) + "::01",
                         gpu_uuid(0) + "::", gpu_uuid(0) + "::-1", std::string()}) {
    EXPECT_EQ(limits_for(offer.resources[0], std::vector{id}), std::nullopt) << id;
  }
  const auto plain = offered(limited({}));
  EXPECT_EQ(limits_for(plain.resources[0], std::vector{replica(0, 0)}), std::nullopt);
}

TEST(GrantLimits, ClassesCountWithPolicyPriority) {
  auto rules = strict();
  rules.priority = Priority::kBestEffort;
  const std::vector<std::string> ids = {replica(0, 0)};
  EXPECT_EQ(limits_for(offered(limited(rules)).resources[0], ids)->priority, Priority::kNormal);
  rules.policy = config::SharePolicy::kPriority;
  EXPECT_EQ(limits_for(offered(limited(rules)).resources[0], ids)->priority, Priority::kBestEffort);
}

TEST(GrantLimits, AreOfTheInstanceUnderMig) {
  auto config = with_mig(config::MigStrategy::kMixed, time_slicing({entry("mig-1g.5gb", 2)}));
  config.tranche.limits = {.general = strict()};
  const auto offer = offered(config, machine_of({a100_40gb(0).mig({"1g.5gb", "2g.10gb"})}));
  const auto* shared = offer.find({"nvidia.com/mig-1g.5gb"});
  const auto* whole = offer.find({"nvidia.com/mig-2g.10gb"});
  ASSERT_TRUE(shared != nullptr && whole != nullptr);
  EXPECT_THAT(limits_for(*shared, std::vector{replica_id(mig_uuid(0, 0), 1)})->devices,
              ElementsAre(DeviceLimits{mig_uuid(0, 0), mib(2560), 500, 500}));
  EXPECT_THAT(limits_for(*whole, std::vector{mig_uuid(0, 1)})->devices,
              ElementsAre(DeviceLimits{
                  mig_uuid(0, 1), std::nullopt, 1000, {}, std::nullopt, MemoryEnforcer::kMig}));
}

// Memory that the driver keeps for itself is in no part, and never lent.
TEST(GrantLimits, AreOfTheUsableMemory) {
  const auto hardware = machine_of({l20(0).memory_mib(1000).reserved_mib(200)});
  for (const auto& [memory, expected] :
       {std::pair<config::MemoryLimit, Bytes>(config::EqualPart{}, mib(200)),
        {Percent{250}, mib(200)},
        {mib(200), mib(200)}}) {
    auto rules = strict(memory);
    rules.enforcement = Enforcement::kElastic;
    rules.memory_hard = NoLimit{};
    const auto offer = offered(limited(rules), hardware);
    const auto part = limits_for(offer.resources.at(0), std::vector{replica(0, 0)})->devices.at(0);
    EXPECT_EQ(part.memory, expected);
    EXPECT_EQ(part.borrowing, (Borrowing{.hard = mib(800), .device = mib(800)}));
  }
  const auto more = offered(limited(strict(mib(250))), hardware);
  ASSERT_THAT(more.withheld, SizeIs(1));
  EXPECT_THAT(more.withheld[0].reason, HasSubstr("4 tranches of 250Mi are more than the 800 MiB"));
}

// The hardware gives each compute instance all of its GPU instance's memory.
TEST(GrantLimits, AComputeInstanceHasItsSlicesOfTheGpuInstancesMemory) {
  const auto hardware = machine_of({a100_40gb(0).mig({"1c.3g.20gb", "2c.3g.20gb"})});
  auto config = with_mig(config::MigStrategy::kMixed, time_slicing({entry("mig-2c.3g.20gb", 2)}));
  const auto limits = [&](const std::string& resource, const std::string& id) {
    const auto offer = offered(config, hardware);
    return limits_for(*offer.find({"nvidia.com/mig-" + resource}), std::vector{id})->devices;
  };
  // A third of 20480 MiB; of the two thirds of the other, a half.
  for (const auto& memory :
       {config::MemoryLimit(config::EqualPart{}), config::MemoryLimit(Percent{1000})}) {
    config.tranche.limits = {.general = strict(memory)};
    config.tranche.limits.general.oversubscribe = true;
    EXPECT_THAT(limits("1c.3g.20gb", mig_uuid(0, 0)),
                ElementsAre(DeviceLimits{mig_uuid(0, 0), mib(6826), 1000}));
  }
  config.tranche.limits = {.general = strict()};
  EXPECT_THAT(limits("2c.3g.20gb", replica_id(mig_uuid(0, 1), 0)),
              ElementsAre(DeviceLimits{mig_uuid(0, 1), mib(6826), 500, 500}));
  // Without a limit it has the whole GPU instance's.
  config.tranche.limits = {.general = strict(NoLimit{})};
  EXPECT_EQ(limits("1c.3g.20gb", mig_uuid(0, 0)).at(0).memory, std::nullopt);
}

TEST(GrantLimits, DifferWithTheReplicasOfEachDevice) {
  auto config = time_slicing({entry("gpu", 2, config::DeviceList{{"0"}}, "part"),
                              entry("gpu", 5, config::DeviceList{{"1"}}, "part")});
  config.tranche.limits = {.general = strict()};
  const auto offer = offered(config, machine(2));
  const auto* resource = offer.find({"nvidia.com/part"});
  ASSERT_NE(resource, nullptr);
  const auto of = [&](int gpu) {
    return limits_for(*resource, std::vector{replica(gpu, 0)})->devices.at(0).memory;
  };
  EXPECT_EQ(of(0), mib(500));
  EXPECT_EQ(of(1), mib(200));
}

TEST(OfferLimits, AreOfTheResourceAsAdvertised) {
  auto config = limited({}, 4, {{{"nvidia.com/gpu.shared"}, strict(), 9}});
  config.sharing.time_slicing->resources[0].rename = resource("gpu.shared");
  const auto offer = offered(config);
  ASSERT_THAT(offer.resources, SizeIs(1));
  ASSERT_TRUE(offer.resources[0].limits);
  EXPECT_EQ(offer.resources[0].limits->rules, strict());
  EXPECT_THAT(offer.resources[0].limits->replicas, ElementsAre(4));
  EXPECT_THAT(offer.warnings, IsEmpty());
}

TEST(OfferLimits, AnEntryForAnotherNameIsWarnedOf) {
  auto config = limited({}, 4, {{{"nvidia.com/gpu"}, strict(), 9}, {{"nvidia.com/x"}, {}, 10}});
  config.sharing.time_slicing->resources[0].rename = resource("gpu.shared");
  const auto offer = offered(config);
  EXPECT_EQ(offer.resources.at(0).limits, std::nullopt);
  EXPECT_THAT(
      offer.warnings,
      ElementsAre(
          "limits of nvidia.com/gpu (line 9): no such resource on this node (it has "
          "nvidia.com/gpu.shared), so the entry does nothing; write the name as advertised, "
          "nvidia.com/gpu.shared",
          "limits of nvidia.com/x (line 10): no such resource on this node (it has "
          "nvidia.com/gpu.shared), so the entry does nothing; correct the name, or ignore this if "
          "other nodes use the entry"));
}

TEST(OfferLimits, PlainFilesHaveNone) {
  EXPECT_EQ(offered(time_slicing({entry("gpu", 4)})).resources.at(0).limits, std::nullopt);
}

struct Objection {
  const char* name;
  Limits rules;
  int replicas;
  std::string why;  // empty: none
};

class Objections : public ::testing::TestWithParam<Objection> {};
void PrintTo(const Objection& row, std::ostream* out) { *out << row.name; }

TEST_P(Objections, WithholdTheResource) {
  const auto offer = offered(limited(GetParam().rules, GetParam().replicas));
  if (GetParam().why.empty()) {
    EXPECT_THAT(offer.withheld, IsEmpty());
    EXPECT_THAT(offer.resources, SizeIs(1));
    return;
  }
  EXPECT_THAT(offer.resources, IsEmpty());
  ASSERT_THAT(offer.withheld, SizeIs(1));
  EXPECT_EQ(offer.withheld[0].name, resource("gpu"));
  EXPECT_EQ(offer.withheld[0].reason, "its limits (line 7) cannot be kept: " + GetParam().why);
}

Limits account(Limits rules) {
  rules.enforcement = Enforcement::kAccount;
  return rules;
}
Limits elastic(Limits rules) {
  rules.enforcement = Enforcement::kElastic;
  return rules;
}

Limits with_hard(Limits rules, config::MemoryLimit hard) {
  rules.memory_hard = hard;
  return rules;
}
Limits borrowing(const Limits& rules, config::MemoryLimit hard) {
  return with_hard(elastic(rules), hard);
}

const std::string kGpu = "GPU 0 (" + gpu_uuid(0) + ")";

INSTANTIATE_TEST_SUITE_P(
    Forms, Objections,
    ::testing::Values(
        Objection{"fits", strict(mib(250), Percent{250}), 4, ""},
        Objection{"memory", strict(mib(251)), 4,
                  "4 tranches of 251Mi are more than the 1000 MiB of " + kGpu +
                      "; lower `memory` or `replicas`, or say `oversubscribe: true`"},
        Objection{"memory_of_one", strict(gib(1)), 1,
                  "1 tranche of 1Gi is more than the 1000 MiB of " + kGpu +
                      "; lower `memory` or `replicas`, or say `oversubscribe: true`"},
        Objection{"memory_percent", strict(Percent{255}), 4,
                  "4 tranches of 25.5% are more than the 1000 MiB of " + kGpu +
                      "; lower `memory` or `replicas`, or say `oversubscribe: true`"},
        Objection{"all_percent_of_several", strict(Percent{1000}), 2,
                  "2 tranches of 100% are more than the 1000 MiB of " + kGpu +
                      "; lower `memory` or `replicas`, or say `oversubscribe: true`"},
        Objection{"all_percent_of_one", strict(Percent{1000}, Percent{1000}), 1, ""},
        Objection{"all_percent_oversubscribed", oversubscribed(strict(Percent{1000})), 2, ""},
        Objection{"all_percent_counted", account(strict(Percent{1000})), 2, ""},
        Objection{"compute", strict(NoLimit{}, Percent{300}), 4,
                  "4 tranches of 30% are more than the time of " + kGpu +
                      "; lower `compute` or `replicas`, or say `oversubscribe: true`"},
        Objection{"elastic_too", elastic(strict(mib(251))), 4,
                  "4 tranches of 251Mi are more than the 1000 MiB of " + kGpu +
                      "; lower `memory` or `replicas`, or say `oversubscribe: true`"},
        Objection{"hard_below", borrowing(strict(mib(200)), mib(100)), 4,
                  "`memoryHard` 100Mi is less than `memory` 200Mi of " + kGpu +
                      "; raise it, or remove it"},
        Objection{"hard", borrowing(strict(mib(200)), mib(2000)), 4, ""},
        Objection{"hard_of_all", borrowing(oversubscribed(strict(mib(2000))), Percent{1000}), 4,
                  ""},
        Objection{"hard_is_not_looked_at", with_hard(strict(mib(200)), mib(100)), 4, ""},
        Objection{"said", oversubscribed(strict(gib(1), Percent{1000})), 4, ""},
        Objection{"account_holds_nothing", account(strict(gib(1), Percent{1000})), 4, ""},
        Objection{"nothing_left", oversubscribed(strict()), 1001,
                  "a part of " + kGpu + " would have less than 1 MiB; lower `replicas`"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(OfferLimits, ElasticTranchesBorrowUpToTheHardLimit) {
  const Borrowing twice{.hard = mib(500), .device = mib(1000)};
  EXPECT_EQ(part(borrowing(strict(), Percent{500}), 4, 1).borrowing, twice);
  EXPECT_EQ(part(borrowing(strict(mib(200)), mib(250)), 4, 2).borrowing, twice);
  const Borrowing all{.hard = mib(1000), .device = mib(1000)};
  EXPECT_EQ(part(borrowing(strict(), NoLimit{}), 4, 1).borrowing, all);
  EXPECT_EQ(part(borrowing(strict(), Percent{400}), 4, 3).borrowing, all);
  EXPECT_EQ(part(borrowing(strict(), config::EqualPart{}), 4, 1).borrowing, std::nullopt);
  EXPECT_EQ(part(borrowing(strict(), NoLimit{}), 4, 4).borrowing, std::nullopt);
  EXPECT_EQ(part(borrowing(strict(NoLimit{}), NoLimit{}), 4, 1).borrowing, std::nullopt);
  EXPECT_EQ(part(with_hard(strict(), NoLimit{}), 4, 1).borrowing, std::nullopt);
}

TEST(OfferLimits, UnknownMemoryCannotBeLent) {
  auto hardware = machine();
  hardware.gpus[0].memory = {};
  EXPECT_THAT(
      offered(limited(borrowing(strict(mib(100)), mib(200))), hardware).withheld.at(0).reason,
      HasSubstr("so none can be lent"));
}

TEST(OfferLimits, APartOfUnknownMemoryIsNotPromised) {
  auto hardware = machine();
  hardware.gpus[0].memory = {};
  EXPECT_THAT(offered(limited(strict()), hardware).withheld.at(0).reason,
              HasSubstr("the driver does not tell how much memory " + kGpu + " has"));
  EXPECT_THAT(offered(limited(strict(mib(100))), hardware).withheld, IsEmpty());
  EXPECT_THAT(offered(limited(strict(NoLimit{})), hardware).withheld, IsEmpty());
}

TEST(OfferLimits, OfAWholeGpuInMigModeWarnThatTheyAreNotEnforced) {
  auto hardware = machine(2);
  hardware.gpus[1].mig_mode = gpu::MigMode::kEnabled;
  EXPECT_THAT(
      offered(limited(strict()), hardware).warnings,
      ::testing::Contains(HasSubstr("GPU 1 (" + gpu_uuid(1) +
                                    ") is in MIG mode and is offered "
                                    "whole: CUDA uses one of its instances, which the limits "
                                    "of nvidia.com/gpu do not reach")));
  EXPECT_THAT(offered(limited(account(strict())), hardware).warnings,
              ::testing::Not(::testing::Contains(HasSubstr("do not reach"))));
}

TEST(OfferLimits, AGpuUsedUpByTheDriverIsWithheld) {
  auto hardware = machine();
  for (const std::uint64_t reserved : {1000, 2000}) {
    hardware.gpus[0].reserved = Bytes::from_mib(reserved);
    for (const config::MemoryLimit& memory :
         {config::MemoryLimit{config::EqualPart{}}, config::MemoryLimit{config::Percent{250}},
          config::MemoryLimit{Bytes::from_mib(100)}}) {
      const auto offer = offered(limited(strict(memory)), hardware);
      ASSERT_THAT(offer.withheld, SizeIs(1)) << config::to_text(memory);
      EXPECT_THAT(offer.withheld[0].reason, HasSubstr("lower `"));
    }
  }
}

TEST(OfferLimits, OneDeviceThatIsTooSmallLeavesTheOthers) {
  const auto offer = offered(limited(strict(gib(8)), 4), machine_of({l20(0), t4(1)}));
  EXPECT_EQ(summary(offer), "gpu=4");
  EXPECT_THAT(offer.resources[0].limits->replicas, ElementsAre(4));
  ASSERT_THAT(offer.withheld, SizeIs(1));
  EXPECT_THAT(offer.withheld[0].devices, ElementsAre("GPU 1 (" + gpu_uuid(1) + ")"));
  EXPECT_THAT(offer.withheld[0].reason, HasSubstr("4 tranches of 8Gi are more than the"));
}

TEST(OfferLimits, UnknownMemoryOfOneGpuLeavesTheOthers) {
  auto hardware = machine(4);
  hardware.gpus[1].memory = {};
  const auto offer = offered(limited(strict()), hardware);
  EXPECT_EQ(summary(offer), "gpu=12");
  const auto held = limits_for(offer.resources[0], std::vector{replica(2, 3)});
  EXPECT_EQ(held.value().devices.at(0).memory, mib(250));
  EXPECT_EQ(limits_for(offer.resources[0], std::vector{replica(1, 0)}), std::nullopt);
  ASSERT_THAT(offer.withheld, SizeIs(1));
  EXPECT_THAT(offer.withheld[0].devices, ElementsAre("GPU 1 (" + gpu_uuid(1) + ")"));
  EXPECT_THAT(offer.withheld[0].reason, HasSubstr("write a quantity or none"));
}

TEST(OfferLimits, ANodeThatCannotLimitWithholdsLimitedResources) {
  auto config = time_slicing({entry("gpu", 4, config::DeviceList{{"0"}}, "part")});
  config.tranche.limits.resources = {{{"nvidia.com/part"}, strict(), 3}};
  auto offer = offered(config, machine(2));
  withhold_limited(offer, "no library");
  EXPECT_EQ(summary(offer), "gpu=1");
  EXPECT_THAT(offer.withheld, ElementsAre(Withheld{{"nvidia.com/part"}, "no library"}));
}

// For every request the parts of a device add up to no more than the device, unless the rules allow
// it.
RC_GTEST_PROP(OfferLimits, PartsNeverExceedTheDevice, ()) {
  const int replicas = *rc::gen::inRange(1, 40);
  auto rules = strict();
  if (*rc::gen::arbitrary<bool>()) rules.memory = mib(*rc::gen::inRange(1U, 1200U));
  if (*rc::gen::arbitrary<bool>()) rules.compute = Percent{*rc::gen::inRange(1, 1001)};
  const auto offer = offered(limited(rules, replicas));
  RC_PRE(!offer.resources.empty());
  std::uint64_t bytes = 0;
  int permille = 0;
  for (const auto& tranche : offer.resources[0].tranches) {
    const auto limits = limits_for(offer.resources[0], std::vector{tranche.id});
    RC_ASSERT(limits.has_value());
    bytes += limits->devices[0].memory.value_or(mib(1000)).value;
    permille += limits->devices[0].permille.value_or(1000);
  }
  RC_ASSERT(bytes <= mib(1000).value);
  RC_ASSERT(permille <= 1000);
}

}  // namespace
}  // namespace tranche::offer::limits_test
