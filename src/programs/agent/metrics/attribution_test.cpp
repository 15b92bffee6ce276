#include "agent/metrics/attribution.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "offer/make_offer.h"
#include "offer/testing.h"
#include "support/machines.h"

namespace tranche::agent::attribution_test {
namespace {

using holdings::Holding;
using host::Owner;
using offer::testing::entry;
using std::chrono::nanoseconds;
using usage::Mechanism;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;

// A Pod's uid, and the runtime's id of a container, in a few letters.
std::string uid(char pod) { return fmt::format("{}0000000-0000-4000-8000-000000000000", pod); }
std::string id(char pod, int container) { return std::string(63, pod) + std::to_string(container); }

cluster::Pod pod(char name, std::vector<std::string> containers = {"c"}) {
  cluster::Pod made{.ns = "team", .name = std::string(1, name), .uid = uid(name)};
  for (std::size_t i = 0; i < containers.size(); ++i) {
    made.container_ids[id(name, static_cast<int>(i))] = containers[i];
    made.containers.push_back({.name = containers[i]});
  }
  return made;
}

Owner owner(char pod, int container = 0) {
  return {.kind = Owner::Kind::kContainer, .pod_uid = uid(pod), .container = id(pod, container)};
}
const Owner kHost{.kind = Owner::Kind::kHost};
const Owner kUnknown{};

OwnedProcess process(pid_t pid, std::optional<std::uint64_t> mib, Owner owner) {
  OwnedProcess made{.process = {.pid = pid}, .owner = std::move(owner)};
  if (mib) made.process.memory = Bytes::from_mib(*mib);
  return made;
}

class AttributionTest : public testing::Test {
 protected:
  AttributionTest() { share(4); }

  void share(int replicas) {
    config_ = offer::testing::time_slicing({entry("gpu", replicas)});
    offer_ = offer::make_offer(machine_, config_, {});
  }
  void only(test::GpuBuilder gpu, config::Config config = {}) {
    machine_ = test::machine_of({std::move(gpu)});
    offer_ = offer::make_offer(machine_, config, {});
  }
  Holding holds(char pod, int replica, const std::string& container = "c") const {
    return {.device = gpu_,
            .gpu = gpu_,
            .resource = {"nvidia.com/gpu"},
            .id = offer::replica_id(gpu_, replica),
            .ns = "team",
            .pod = std::string(1, pod),
            .pod_uid = uid(pod),
            .container = container,
            .use = holdings::Use::kTimeSliced,
            .state = holdings::State::kInUse};
  }
  void use(std::uint64_t mib, std::uint64_t reserved = 0) {
    const auto total = machine_.gpus[0].memory;
    memory_[gpu_] = {.total = total,
                     .used = Bytes::from_mib(mib),
                     .free = Bytes{total.value - (mib + reserved) * kMib},
                     .reserved = Bytes::from_mib(reserved)};
  }
  limit::TenantStatus tenant(const std::string& name, std::uint64_t charged,
                             std::uint64_t outside) const {
    return {.id = name,
            .resource = "nvidia.com/gpu",
            .processes = 2,
            .refused = 3,
            .devices = {{.limits = {.uuid = gpu_},
                         .charged_bytes = (charged + 50) * kMib,
                         .released_bytes = 50 * kMib,
                         .outside_bytes = outside * kMib,
                         .gpu_ns = 5'000'000'000,
                         .asked_ns = 6'000'000'000,
                         .waited_ns = 2'000'000'000,
                         .launches = 17}}};
  }
  Attribution attribute() {
    return agent::attribute({.machine = machine_,
                             .offer = offer_,
                             .held = holdings::Holdings(held_),
                             .pods = pods_,
                             .processes = processes_,
                             .memory = memory_,
                             .is_held_known = is_held_known_,
                             .arbiter = arbiter_ ? &*arbiter_ : nullptr});
  }
  usage::ContainerFigures only_one() {
    auto made = attribute();
    EXPECT_EQ(made.containers.size(), 1U);
    return made.containers.empty() ? usage::ContainerFigures() : made.containers[0].figures;
  }
  static std::uint64_t sum(const usage::MemoryAccount& account) {
    return account.free + account.reserved + account.containers + account.host_processes +
           account.unknown + account.unattributed;
  }

  const std::string gpu_ = test::gpu_uuid(0);
  gpu::Machine machine_ = test::machine_of(1, test::t4);
  config::Config config_;
  offer::Offer offer_;
  std::vector<Holding> held_;
  std::vector<cluster::Pod> pods_;
  std::map<std::string, std::vector<OwnedProcess>> processes_;
  std::map<std::string, gpu::MemoryFigures> memory_;
  bool is_held_known_ = true;
  std::optional<limit::ArbiterStatus> arbiter_;
};

TEST_F(AttributionTest, EachPodOfATimeSlicedGpuHasItsOwnFigures) {
  pods_ = {pod('a'), pod('b'), pod('c')};
  held_ = {holds('a', 0), holds('b', 1), holds('c', 2)};
  processes_[gpu_] = {process(10, 315, owner('a')), process(11, 100, owner('a')),
                      process(20, 1577, owner('b'))};
  use(2100, 400);
  const auto made = attribute();
  ASSERT_EQ(made.containers.size(), 3U);
  const auto& a = made.containers[0].figures;
  EXPECT_EQ(a.pod, "a");
  EXPECT_EQ(a.mechanism, Mechanism::kTimeSlicing);
  EXPECT_EQ(a.memory_used, 415 * kMib);
  EXPECT_EQ(a.processes, 2U);
  EXPECT_DOUBLE_EQ(a.gpus, 0.25);
  EXPECT_EQ(made.containers[1].figures.memory_used, 1577 * kMib);
  const auto& idle = made.containers[2].figures;
  EXPECT_TRUE(idle.attributed) << "it is known to use nothing";
  EXPECT_EQ(idle.memory_used, 0U);
  ASSERT_EQ(made.memory.size(), 1U);
  EXPECT_EQ(made.memory[0].containers, 1992 * kMib);
  EXPECT_EQ(made.memory[0].unattributed, 108 * kMib);
  EXPECT_EQ(sum(made.memory[0]), made.memory[0].total);
}

TEST_F(AttributionTest, TwoContainersOfOnePodAreToldApart) {
  pods_ = {pod('a', {"train", "serve"})};
  held_ = {holds('a', 0, "train"), holds('a', 1, "serve")};
  processes_[gpu_] = {process(10, 300, owner('a', 0)), process(11, 200, owner('a', 1))};
  const auto made = attribute();
  ASSERT_EQ(made.containers.size(), 2U);
  EXPECT_EQ(made.containers[0].figures.container, "serve");
  EXPECT_EQ(made.containers[0].figures.memory_used, 200 * kMib);
  EXPECT_EQ(made.containers[1].figures.memory_used, 300 * kMib);
}

TEST_F(AttributionTest, TwoReplicasOfOneContainerCountItsProcessesOnce) {
  pods_ = {pod('a')};
  held_ = {holds('a', 0), holds('a', 1)};
  processes_[gpu_] = {process(10, 300, owner('a'))};
  const auto one = only_one();
  EXPECT_EQ(one.memory_used, 300 * kMib);
  EXPECT_DOUBLE_EQ(one.gpus, 0.5);
}

TEST_F(AttributionTest, AContainerThatHasJustStartedIsItsPodsOnlyOne) {
  pods_ = {pod('a')};
  pods_[0].container_ids.clear();  // kubelet has not reported yet
  held_ = {holds('a', 0)};
  processes_[gpu_] = {process(10, 300, owner('a'))};
  EXPECT_EQ(only_one().memory_used, 300 * kMib);
}

TEST_F(AttributionTest, OfTwoContainersThatHaveJustStartedNeitherIsKnown) {
  pods_ = {pod('a', {"train", "serve"}), pod('b')};
  pods_[0].container_ids.clear();
  held_ = {holds('a', 0, "train"), holds('a', 1, "serve"), holds('b', 2)};
  processes_[gpu_] = {process(10, 300, owner('a'))};
  use(300);
  const auto made = attribute();
  ASSERT_EQ(made.containers.size(), 3U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(made.containers[static_cast<std::size_t>(i)].figures.attributed);
    EXPECT_EQ(made.containers[static_cast<std::size_t>(i)].figures.memory_used, std::nullopt);
  }
  EXPECT_EQ(made.containers[2].figures.memory_used, 0U) << "another Pod's are known";
  EXPECT_EQ(made.memory[0].unknown, 300 * kMib);
}

TEST_F(AttributionTest, ProcessesThatAreNotSeenAreUnknownNotZero) {
  pods_ = {pod('a'), pod('b')};
  held_ = {holds('a', 0), holds('b', 1)};
  processes_[gpu_] = {process(10, 300, kUnknown)};
  use(350);
  const auto made = attribute();
  for (const auto& one : made.containers) {
    EXPECT_FALSE(one.figures.attributed);
    EXPECT_EQ(one.figures.memory_used, std::nullopt);
    EXPECT_EQ(one.figures.processes, std::nullopt);
  }
  EXPECT_EQ(made.memory[0].unknown, 300 * kMib);
  EXPECT_EQ(sum(made.memory[0]), made.memory[0].total);
}

TEST_F(AttributionTest, ADriverThatDoesNotListProcessesLeavesAllUnknown) {
  pods_ = {pod('a')};
  held_ = {holds('a', 0)};
  use(350);
  const auto made = attribute();
  EXPECT_EQ(made.containers[0].figures.memory_used, std::nullopt);
  EXPECT_EQ(made.memory[0].unknown, 350 * kMib);
  EXPECT_EQ(made.memory[0].unattributed, 0U);
  EXPECT_EQ(sum(made.memory[0]), made.memory[0].total);
}

TEST_F(AttributionTest, MemoryThatTheDriverDoesNotTellIsUnknown) {
  pods_ = {pod('a')};
  held_ = {holds('a', 0)};
  processes_[gpu_] = {process(10, 300, owner('a')), process(11, std::nullopt, owner('a'))};
  const auto one = only_one();
  EXPECT_TRUE(one.attributed);
  EXPECT_EQ(one.processes, 2U);
  EXPECT_EQ(one.memory_used, std::nullopt);
}

TEST_F(AttributionTest, ProcessesOfTheHostAreNobodysFigures) {
  pods_ = {pod('a')};
  held_ = {holds('a', 0)};
  processes_[gpu_] = {process(10, 300, owner('a')), process(20, 50, kHost),
                      process(40, 999, {.kind = Owner::Kind::kEnded})};
  use(350);
  const auto made = attribute();
  EXPECT_EQ(made.containers[0].figures.memory_used, 300 * kMib);
  EXPECT_EQ(made.memory[0].host_processes, 50 * kMib);
  EXPECT_EQ(made.memory[0].unknown, 0U);
  EXPECT_EQ(made.memory[0].excess, 0U);
  EXPECT_EQ(sum(made.memory[0]), made.memory[0].total);
}

TEST_F(AttributionTest, WhoUsesAGpuWithoutAGrantIsNamed) {
  pods_ = {pod('a', {"train", "side"}), pod('x')};
  held_ = {holds('a', 0, "train")};
  processes_[gpu_] = {process(10, 300, owner('a', 0)), process(11, 20, owner('a', 1)),
                      process(30, 70, owner('x')), process(31, 5, owner('x')),
                      process(40, 9, owner('y'))};
  use(404);
  const auto made = attribute();
  ASSERT_EQ(made.containers.size(), 3U);
  EXPECT_EQ(made.containers[0].figures.container, "side");
  EXPECT_EQ(made.containers[0].figures.memory_used, 20 * kMib);
  EXPECT_EQ(made.containers[1].figures.memory_used, 300 * kMib);
  const auto& stranger = made.containers[2].figures;
  EXPECT_EQ(stranger.pod, "x");
  EXPECT_EQ(stranger.mechanism, Mechanism::kNone);
  EXPECT_EQ(stranger.resource, "");
  EXPECT_EQ(stranger.memory_used, 75 * kMib);
  EXPECT_EQ(stranger.processes, 2U);
  EXPECT_EQ(stranger.gpus, 0);
  EXPECT_EQ(made.memory[0].containers, 395 * kMib);
  EXPECT_EQ(made.memory[0].unknown, 9 * kMib) << "of a Pod that is not known";
  EXPECT_EQ(sum(made.memory[0]), made.memory[0].total);
}

TEST_F(AttributionTest, NobodyIsWithoutAGrantWhileGrantsAreNotKnown) {
  pods_ = {pod('x')};
  is_held_known_ = false;
  processes_[gpu_] = {process(30, 70, owner('x'))};
  use(70);
  auto made = attribute();
  EXPECT_TRUE(made.containers.empty());
  EXPECT_EQ(made.memory[0].unknown, 70 * kMib);
  is_held_known_ = true;
  pods_[0].container_ids.clear();
  EXPECT_TRUE(attribute().containers.empty()) << "nor while the container is not";
  pods_ = {pod('x')};
  pods_[0].deleting = true;
  EXPECT_TRUE(attribute().containers.empty()) << "nor while it ends";
}

TEST_F(AttributionTest, AsManyWithoutAGrantAreNamedAsThereIsRoomFor) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("c" + std::to_string(i));
  pods_ = {pod('x', names)};
  for (int i = 0; i < 100; ++i) processes_[gpu_].push_back(process(10 + i, 1, owner('x', i)));
  use(100);
  const auto made = attribute();
  EXPECT_EQ(made.containers.size(), 64U);
  EXPECT_EQ(made.memory[0].containers, 64 * kMib);
  EXPECT_EQ(made.memory[0].unknown, 36 * kMib);
}

// The arbiter's host process ids found it, and the agent has none.
TEST_F(AttributionTest, OneWithoutAGrantThatTheArbiterFoundIsThere) {
  pods_ = {pod('x')};
  auto used = holds('x', 0);
  used.wire = holdings::Wire::kNone;
  used.use = holdings::Use::kShared;
  used.resource = {};
  held_ = {used};
  const auto one = only_one();
  EXPECT_EQ(one.mechanism, Mechanism::kNone);
  EXPECT_EQ(one.gpus, 0);
  EXPECT_FALSE(one.attributed);
}

TEST_F(AttributionTest, ContainersThatShareAClaimAreToldApartByTheirProcesses) {
  pods_ = {pod('a', {"train", "serve"}), pod('b')};
  for (const auto& [name, container] :
       {std::pair('a', "train"), std::pair('a', "serve"), std::pair('b', "c")}) {
    auto share = holds(name, 0, container);
    share.wire = holdings::Wire::kClaim;
    share.claim = "half";
    share.id = "gpu-0/1";
    share.tenant = "t";
    share.part = DeviceLimits{.uuid = gpu_, .memory = Bytes::from_mib(7680), .permille = 500};
    held_.push_back(share);
  }
  arbiter_ = {.tenants = {tenant("t", 500, 0)}};
  processes_[gpu_] = {process(10, 300, owner('a', 0)), process(11, 200, owner('a', 1))};
  use(500);
  auto made = attribute();
  ASSERT_EQ(made.containers.size(), 3U);
  double gpus = 0;
  for (const auto& one : made.containers) {
    EXPECT_EQ(one.figures.compute, std::nullopt) << "the arbiter counts them together";
    EXPECT_EQ(one.figures.launches, std::nullopt);
    EXPECT_EQ(one.figures.allocation_failures, std::nullopt);
    EXPECT_EQ(one.figures.memory_limit, Bytes::from_mib(7680).value);
    gpus += one.figures.gpus;
  }
  EXPECT_NEAR(gpus, 0.5, 1e-6) << "what was given counts once";
  EXPECT_EQ(made.containers[0].figures.memory_used, 200 * kMib);
  EXPECT_EQ(made.containers[1].figures.memory_used, 300 * kMib);
  EXPECT_EQ(made.containers[2].figures.memory_used, 0U);
  EXPECT_EQ(made.memory[0].containers, 500 * kMib);

  processes_.clear();  // and without the node's process ids
  made = attribute();
  for (const auto& one : made.containers) {
    EXPECT_FALSE(one.figures.attributed);
    EXPECT_EQ(one.figures.memory_used, std::nullopt);
  }
  EXPECT_EQ(made.memory[0].unknown, 500 * kMib);
  EXPECT_EQ(sum(made.memory[0]), made.memory[0].total);
}

TEST_F(AttributionTest, AStaticPodIsKnownByTheHashOfItsFile) {
  auto fixed = pod('a');
  fixed.annotations["kubernetes.io/config.mirror"] = "0123456789abcdef0123456789abcdef";
  fixed.annotations["kubernetes.io/config.hash"] = "0123456789abcdef0123456789abcdef";
  pods_ = {fixed};
  held_ = {holds('a', 0)};
  auto group = owner('a');
  group.pod_uid = "0123456789abcdef0123456789abcdef";
  processes_[gpu_] = {process(10, 300, group)};
  EXPECT_EQ(only_one().memory_used, 300 * kMib);
}

TEST_F(AttributionTest, TheArbiterCountsComputeAndKnowsWhatTheAgentCannotSee) {
  pods_ = {pod('a')};
  auto limited = holds('a', 0);
  limited.tenant = "t1";
  limited.part = DeviceLimits{.uuid = gpu_, .memory = Bytes::from_mib(3776), .permille = 250};
  held_ = {limited};
  arbiter_ = {.tenants = {tenant("t1", 200, 100)}};
  processes_[gpu_] = {process(10, 305, owner('a'))};
  auto one = only_one();
  EXPECT_EQ(one.memory_used, 305 * kMib) << "the driver's count, where it is known";
  EXPECT_EQ(one.compute, nanoseconds(5'000'000'000));
  EXPECT_EQ(one.compute_asked, nanoseconds(6'000'000'000));
  EXPECT_EQ(one.waited, nanoseconds(2'000'000'000));
  EXPECT_EQ(one.launches, 17U);
  EXPECT_EQ(one.compute_promised, 0.25);
  EXPECT_EQ(one.memory_limit, 3776 * kMib);
  EXPECT_EQ(one.allocation_failures, 3U);
  EXPECT_EQ(one.processes, 1U);

  processes_[gpu_] = {process(10, 305, kUnknown)};
  use(400);
  one = only_one();
  EXPECT_TRUE(one.attributed);
  EXPECT_EQ(one.memory_used, 300 * kMib);
  EXPECT_EQ(one.processes, 2U);
  const auto account = attribute().memory.at(0);
  EXPECT_EQ(account.containers, 300 * kMib);
  EXPECT_EQ(account.unknown, 5 * kMib);
  EXPECT_EQ(sum(account), account.total);
}

// Its processes write what they asked for, and what they charge.
TEST_F(AttributionTest, NumbersOfATenantThatLiesStayInRange) {
  held_ = {holds('a', 0), holds('a', 1)};
  held_[0].tenant = "t1";
  held_[1].tenant = "t2";
  arbiter_ = {.tenants = {tenant("t1", 0, 0), tenant("t2", 0, 0)}};
  for (auto& one : arbiter_->tenants) {
    auto& device = one.devices[0];
    device.asked_ns = device.charged_bytes = device.launches = ~std::uint64_t{0};
    device.released_bytes = 0;
  }
  const auto one = only_one();
  EXPECT_GT(one.compute_asked, nanoseconds(0));
  EXPECT_EQ(one.launches, ~std::uint64_t{0});
  EXPECT_EQ(one.memory_used, ~std::uint64_t{0});
}

TEST_F(AttributionTest, ATenantOfSeveralDevicesIsCountedOnce) {
  machine_ = test::machine_of(2, test::t4);
  share(4);
  auto first = holds('a', 0);
  auto second = first;
  second.device = second.gpu = test::gpu_uuid(1);
  second.id = offer::replica_id(second.device, 0);
  first.tenant = second.tenant = "t1";
  held_ = {first, second};
  arbiter_ = {.tenants = {tenant("t1", 100, 0)}};
  arbiter_->tenants[0].devices.push_back({.limits = {.uuid = second.device}});
  const auto made = attribute();
  ASSERT_EQ(made.containers.size(), 2U);
  EXPECT_EQ(made.containers[0].figures.allocation_failures, 3U);
  EXPECT_EQ(made.containers[1].figures.allocation_failures, 0U);
}

TEST_F(AttributionTest, ATenantOfSeveralContainersIsNotDividedByGuess) {
  pods_ = {pod('a'), pod('b')};
  held_ = {holds('a', 0), holds('b', 1)};
  for (auto& one : held_) one.tenant = "shared";
  arbiter_ = {.tenants = {tenant("shared", 200, 0)}};
  for (const auto& one : attribute().containers) {
    EXPECT_EQ(one.figures.compute, std::nullopt);
    EXPECT_EQ(one.figures.memory_used, std::nullopt);
  }
}

TEST_F(AttributionTest, AMigInstanceIsItsHolders) {
  only(test::a100_40gb(0).mig({"1g.5gb", "2g.10gb"}));
  machine_.gpus[0].mig_geometry.compute_slices = 7;
  const auto instance = test::mig_uuid(0, 1);
  pods_ = {pod('a')};
  auto held = holds('a', 0);
  held.device = held.id = instance;
  held.use = holdings::Use::kWhole;
  held_ = {held};
  processes_[instance] = {process(10, 500, owner('a'))};
  processes_[test::mig_uuid(0, 0)] = {};
  use(600);
  const auto made = attribute();
  ASSERT_EQ(made.containers.size(), 1U);
  const auto& one = made.containers[0].figures;
  EXPECT_EQ(one.mechanism, Mechanism::kMig);
  EXPECT_EQ(one.mig_profile, "2g.10gb");
  EXPECT_EQ(one.gpu, gpu_);
  EXPECT_EQ(one.memory_used, 500 * kMib);
  EXPECT_DOUBLE_EQ(one.gpus, 2.0 / 7);
  EXPECT_EQ(made.memory[0].containers, 500 * kMib);
  EXPECT_EQ(made.memory[0].unattributed, 100 * kMib);
}

TEST_F(AttributionTest, TheMpsServersOwnMemoryIsTheNodes) {
  pods_ = {pod('a'), pod('m')};
  held_ = {holds('a', 0)};
  arbiter_ = {.mps_servers = {{.device = gpu_, .pid = 99}}};
  processes_[gpu_] = {process(10, 300, owner('a')), process(99, 30, owner('m'))};
  use(330);
  const auto made = attribute();
  EXPECT_EQ(made.memory[0].host_processes, 30 * kMib);
  EXPECT_EQ(made.containers[0].figures.memory_used, 300 * kMib);
}

TEST_F(AttributionTest, TranchesAreCountedByState) {
  held_ = {holds('a', 0), holds('b', 1), holds('c', 2)};
  held_[2].state = holdings::State::kReserved;
  offer_.resources[0].tranches[3].withheld = true;
  const auto made = attribute();
  ASSERT_EQ(made.tranches.size(), 1U);
  EXPECT_EQ(made.tranches[0].resource, "nvidia.com/gpu");
  EXPECT_EQ(made.tranches[0].mechanism, Mechanism::kTimeSlicing);
  EXPECT_EQ(made.tranches[0].advertised, 4U);
  EXPECT_EQ(made.tranches[0].allocated, 2U);
  EXPECT_EQ(made.tranches[0].withheld, 1U);
}

TEST_F(AttributionTest, AClaimsShareIsItsPartOfTheGpu) {
  pods_ = {pod('a')};
  auto share = holds('a', 0);
  share.wire = holdings::Wire::kClaim;
  share.id = "gpu-0/1";
  share.part =
      DeviceLimits{.uuid = gpu_, .memory = Bytes{machine_.gpus[0].usable_memory().value / 4}};
  held_ = {share};
  const auto one = only_one();
  EXPECT_EQ(one.mechanism, Mechanism::kShare);
  EXPECT_NEAR(one.gpus, 0.25, 1e-6);
}

// Whatever processes, owners and holders there are, each byte is somewhere, and once.
RC_GTEST_FIXTURE_PROP(AttributionTest, SumsClose, ()) {
  const auto count = *rc::gen::inRange(0, 12);
  pods_ = {pod('a', {"train", "serve"}), pod('b')};
  if (*rc::gen::arbitrary<bool>()) pods_[0].container_ids.clear();
  held_ = {holds('a', 0, "train"), holds('a', 1, "serve"), holds('b', 2)};
  auto& processes = processes_[gpu_];
  std::uint64_t listed = 0;
  for (int i = 0; i < count; ++i) {
    const auto which = *rc::gen::inRange(0, 7);
    const auto mib = *rc::gen::inRange<std::uint64_t>(0, 500);
    const Owner owners[] = {owner('a', 0),
                            owner('a', 1),
                            owner('b'),
                            owner('x'),
                            kHost,
                            kUnknown,
                            {.kind = Owner::Kind::kEnded}};
    processes.push_back(process(100 + i, mib, owners[which]));
    listed += which == 6 ? 0 : mib;
  }
  const auto used = *rc::gen::inRange<std::uint64_t>(0, 6000);
  use(used, 100);
  const auto made = attribute();
  const auto& account = made.memory.at(0);
  RC_ASSERT(sum(account) - account.excess == account.total);
  RC_ASSERT((account.excess == 0) == (listed <= used));
  std::uint64_t attributed = 0;
  for (const auto& one : made.containers) attributed += one.figures.memory_used.value_or(0);
  RC_ASSERT(attributed <= account.containers);
}

}  // namespace
}  // namespace tranche::agent::attribution_test
