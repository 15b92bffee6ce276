#include "agent/limits/tenant_manager.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <thread>

#include "offer/grant_maker.h"
#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::agent::tenant_manager_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Names = std::vector<std::string>;
using Mounted = std::set<std::string>;

const config::ResourceName kGpu = {"nvidia.com/gpu"};

// 1000 MiB in `replicas`.
offer::Offer offered(const config::Limits& rules, int replicas = 4) {
  offer::ResourceOffer resource;
  resource.name = resource.base = kGpu;
  resource.devices = {{.uuid = "GPU-a", .memory = Bytes::from_mib(1000)}};
  for (int i = 0; i < replicas; ++i) {
    resource.tranches.push_back({offer::replica_id("GPU-a", i), 0});
  }
  if (rules.on()) resource.limits = offer::OfferLimits{rules, {replicas}};
  return {.resources = {resource}};
}

config::Limits rules(Enforcement enforcement = Enforcement::kStrict) {
  return {.enforcement = enforcement};
}

cluster::HeldDevices held(Names ids) { return {"ns", "pod", "c", kGpu.value, std::move(ids)}; }

class TenantManagerTest : public testing::Test {
 protected:
  TenantManagerTest() {
    EXPECT_TRUE(fs_.write_atomic(library(), "library 1"));
    start();
  }

  std::filesystem::path library() const { return dir_.path() / "libtranche-limit.so"; }
  std::filesystem::path state() const { return dir_.path() / "s"; }
  std::filesystem::path cdi() const { return dir_.path() / "cdi"; }
  std::filesystem::path hook() const { return state() / "hook/tranche-limit-hook"; }
  std::filesystem::path hook_spec() const { return cdi() / "tranche.dev-limits.json"; }

  void start() {
    manager_.reset();
    grants_ = GrantStore::open(state() / "grants", clock_, log_.log()).value();
    manager_.emplace(
        TenantManager::Options{.library = library(), .state_dir = state(), .cdi_root = cdi()},
        *grants_, clock_, log_.log());
  }

  // Kubelet gives the same answer twice.
  void prune(const Holders& holders) {
    manager_->prune(holders);
    clock_.advance(kAgree);
    manager_->prune(holders);
  }
  void prune(std::vector<cluster::HeldDevices> held = {}) {
    prune(Holders{.listed = held, .remembered = held});
  }

  // As Allocate does; returns the answer.
  offer::Grant grant(const std::string& tenant, Names ids, const offer::Offer& offer) {
    const auto mounts = manager_->prepare().value();
    const auto made =
        offer::make_grant(offer.resources[0], {.limits = mounts}, ids, tenant).value();
    const auto stored = manager_->store(made);
    EXPECT_TRUE(stored) << stored.error().message();
    return made;
  }

  limit::TenantLimits promised(const std::string& tenant) const {
    const auto text = fs_.read(state() / "tenants" / (tenant + ".json"));
    if (!text) return {};
    return limit::decode(*text).value();
  }
  Names tenants() const { return fs_.list(state() / "tenants").value_or(Names{}); }
  Names libraries() const { return fs_.list(state() / "lib").value_or(Names{}); }

  test::TempDir dir_;
  FsRoot fs_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  std::unique_ptr<GrantStore> grants_;
  std::optional<TenantManager> manager_;
};

TEST_F(TenantManagerTest, WhatAGrantMountsIsThereBeforeItIsAnswered) {
  const auto made = grant("t1", {"GPU-a::0", "GPU-a::2"}, offered(rules()));
  ASSERT_EQ(made.mounts.size(), 3U);
  EXPECT_EQ(fs_.read(made.mounts[0].host_path).value(), "library 1");
  EXPECT_EQ(fs_.read(made.mounts[1].host_path).value(), "/usr/local/tranche/libtranche-limit.so\n");
  EXPECT_TRUE(fs_.is_directory(made.mounts[2].host_path));
  EXPECT_THAT(fs_.list(made.mounts[2].host_path).value(), ElementsAre("part"));
  EXPECT_EQ(fs_.read(made.mounts[2].host_path + "/part").value(),
            "tranche-part/v1\nGPU-a 524288000\n");
  EXPECT_EQ(promised("t1"),
            (limit::TenantLimits{.id = "t1",
                                 .resource = kGpu.value,
                                 .enforcement = Enforcement::kStrict,
                                 .devices = {{"GPU-a", Bytes::from_mib(500), 500, 500}}}));
  ASSERT_EQ(grants_->all().size(), 1U);
  EXPECT_EQ(grants_->all()[0].grant, made);
}

TEST_F(TenantManagerTest, WhatKeepsMemoryStandsWithWhatWasPromised) {
  auto offer = offered(rules());
  grant("t1", {"GPU-a::0"}, offer);
  for (const auto enforcer : {MemoryEnforcer::kKernel, MemoryEnforcer::kMps, MemoryEnforcer::kMig,
                              MemoryEnforcer::kLimiter}) {
    offer.resources[0].limits->enforcers = {enforcer};
    manager_->follow(offer);
    EXPECT_EQ(promised("t1").devices.at(0).enforcer, enforcer);
  }
  // A tenant of the whole GPU needs no enforcer: it has no memory limit.
  offer.resources[0].limits->enforcers = {MemoryEnforcer::kKernel};
  grant("t2", {"GPU-a::0", "GPU-a::1", "GPU-a::2", "GPU-a::3"}, offer);
  EXPECT_EQ(promised("t2").devices.at(0).enforcer, MemoryEnforcer::kLimiter);
}

config::Limits hooked() {
  auto hooked = rules();
  hooked.runtime_hook = true;
  return hooked;
}

TEST_F(TenantManagerTest, TheRuntimesHookIsPutInPlaceAndReplacedWhole) {
  ASSERT_TRUE(fs_.write_atomic(dir_.path() / "tranche-limit-hook", "program 1"));
  ASSERT_TRUE(manager_->prepare());
  EXPECT_FALSE(fs_.exists(hook_spec())) << "nobody asked for it";
  ASSERT_TRUE(manager_->prepare_hook());
  EXPECT_EQ(fs_.read(hook()).value(), "program 1");
  EXPECT_EQ(std::filesystem::status(hook()).permissions(), std::filesystem::perms{0755});
  EXPECT_THAT(fs_.read(hook_spec()).value(), HasSubstr(hook().string()));
  EXPECT_THAT(fs_.read(hook_spec()).value(), HasSubstr((state() / "tenants").string()));
  // Another release replaces the file: a running process keeps the old program.
  std::ifstream running(hook());
  ASSERT_TRUE(fs_.write_atomic(dir_.path() / "tranche-limit-hook", "program 2"));
  ASSERT_TRUE(fs_.write_atomic(hook_spec(), "edited"));
  start();
  ASSERT_TRUE(manager_->prepare_hook());
  EXPECT_EQ(fs_.read(hook()).value(), "program 2");
  EXPECT_EQ(std::string(std::istreambuf_iterator(running), {}), "program 1");
  EXPECT_THAT(fs_.read(hook_spec()).value(), HasSubstr("createRuntime"));
}

TEST_F(TenantManagerTest, WithoutTheProgramThereIsNoHook) {
  const auto hook = manager_->prepare_hook();
  ASSERT_FALSE(hook);
  EXPECT_THAT(hook.error().message(), HasSubstr("beside libtranche-limit.so"));
  EXPECT_FALSE(fs_.exists(hook_spec())) << "nothing names what is not there";
}

TEST_F(TenantManagerTest, TheHookStaysAsLongAsAClaimsFileHasIt) {
  ASSERT_TRUE(fs_.write_atomic(dir_.path() / "tranche-limit-hook", "program"));
  ASSERT_TRUE(manager_->prepare());
  EXPECT_EQ(manager_->prepare_claims_hook(false).value(), std::nullopt);
  EXPECT_FALSE(fs_.exists(hook()));
  const auto given = manager_->prepare_claims_hook(true);
  ASSERT_TRUE(given && *given);
  EXPECT_EQ((*given)->path, hook().string());
  manager_->follow(offered(rules()));
  prune();
  EXPECT_TRUE(fs_.exists(hook()));
  const auto file = cdi() / "k8s.gpu.nvidia.com-claim-0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a.json";
  ASSERT_TRUE(fs_.write_atomic(file, (*given)->path));
  EXPECT_EQ(manager_->prepare_claims_hook(false).value(), std::nullopt);
  prune();
  EXPECT_TRUE(fs_.exists(hook())) << "a container of it may be started again";
  ASSERT_TRUE(fs_.remove(file));
  prune();
  EXPECT_FALSE(fs_.exists(hook()));
}

TEST_F(TenantManagerTest, TheHookStaysAsLongAsAGrantNamesIt) {
  ASSERT_TRUE(fs_.write_atomic(dir_.path() / "tranche-limit-hook", "program"));
  ASSERT_TRUE(manager_->prepare());
  ASSERT_TRUE(manager_->prepare_hook());
  prune();
  EXPECT_TRUE(fs_.exists(hook_spec())) << "it is about to be offered";
  grant("t1", {"GPU-a::0"}, offered(hooked()));
  manager_->follow(offered(rules()));
  const std::vector<cluster::HeldDevices> holders{held({"GPU-a::0"})};
  clock_.advance(GrantStore::kSettle);
  prune(holders);
  EXPECT_TRUE(fs_.exists(hook_spec()));
  // A reboot empties the CDI folder, and kubelet restarts the container.
  std::filesystem::remove_all(cdi());
  start();
  manager_->follow(offered(rules()));
  EXPECT_TRUE(fs_.exists(hook_spec()));
  clock_.advance(GrantStore::kSettle);
  prune();
  EXPECT_FALSE(fs_.exists(hook_spec()));
  EXPECT_FALSE(fs_.exists(state() / "hook"));
  EXPECT_EQ(log_.count("no container has the runtime's hook any more"), 2);
}

TEST_F(TenantManagerTest, AnyUserOfTheContainerReachesTheFolder) {
  const auto made = grant("t1", {"GPU-a::0"}, offered(rules()));
  using std::filesystem::perms;
  const auto mode = std::filesystem::status(made.mounts[2].host_path).permissions();
  EXPECT_EQ(mode & perms::mask, static_cast<perms>(0755));
}

TEST_F(TenantManagerTest, GrantsWithoutLimitsLeaveNothingButTheirRecord) {
  offer::Grant plain;
  plain.resource = kGpu;
  plain.ids = {"GPU-a"};
  ASSERT_TRUE(manager_->store(plain));
  manager_->follow(offered({}));
  prune();
  EXPECT_EQ(grants_->all().size(), 1U);
  EXPECT_FALSE(fs_.exists(state() / "tenants"));
  EXPECT_FALSE(fs_.exists(state() / "lib"));
}

TEST_F(TenantManagerTest, WithoutALibraryNothingCanBePromised) {
  ASSERT_TRUE(fs_.remove(library()));
  const auto mounts = manager_->prepare();
  ASSERT_FALSE(mounts);
  EXPECT_EQ(mounts.error().code, Code::kNotFound);
  EXPECT_THAT(mounts.error().message(), HasSubstr(library().string()));
  EXPECT_THAT(mounts.error().message(), HasSubstr("--limit-library"));
  ASSERT_TRUE(fs_.write_atomic(library(), ""));
  EXPECT_THAT(manager_->prepare().error().message(), HasSubstr("is empty"));
  // The next prepare() looks for the library again.
  ASSERT_TRUE(fs_.write_atomic(library(), "library 1"));
  EXPECT_TRUE(manager_->prepare());
}

TEST_F(TenantManagerTest, ARelativeStateFolderCannotBeMounted) {
  manager_.emplace(TenantManager::Options{.library = library(), .state_dir = "s"}, *grants_, clock_,
                   log_.log());
  EXPECT_THAT(manager_->prepare().error().message(), HasSubstr("no absolute path"));
}

TEST_F(TenantManagerTest, WhereNoArbiterRunsNothingCanBePromised) {
  manager_.emplace(TenantManager::Options{.library = "none", .state_dir = state()}, *grants_,
                   clock_, log_.log());
  const auto mounts = manager_->prepare();
  ASSERT_FALSE(mounts);
  EXPECT_THAT(mounts.error().message(), HasSubstr("no arbiter runs on this node"));
}

TEST_F(TenantManagerTest, ALibraryThatWasRemovedOrDamagedIsPutBack) {
  const auto mounts = manager_->prepare().value();
  ASSERT_TRUE(fs_.remove(mounts.library));
  EXPECT_EQ(manager_->prepare().value(), mounts);
  EXPECT_EQ(fs_.read(mounts.library).value(), "library 1");
  ASSERT_TRUE(fs_.write_atomic(mounts.library, "half"));
  start();
  EXPECT_EQ(manager_->prepare().value(), mounts);
  EXPECT_EQ(fs_.read(mounts.library).value(), "library 1");
}

TEST_F(TenantManagerTest, MoreDevicesThanATenantCanHaveAreRefused) {
  offer::Grant many;
  many.resource = kGpu;
  many.ids = {"GPU-a"};
  many.tenant = "t1";
  GrantLimits limits{.enforcement = Enforcement::kStrict};
  for (int i = 0; i < 17; ++i) {
    limits.devices.push_back({.uuid = "MIG-" + std::to_string(i), .memory = {}});
  }
  many.limits = limits;
  const auto stored = manager_->store(many);
  ASSERT_FALSE(stored);
  EXPECT_THAT(stored.error().message(), HasSubstr("17 devices of nvidia.com/gpu"));
  EXPECT_THAT(grants_->all(), IsEmpty());
}

TEST_F(TenantManagerTest, LimitsFollowTheConfiguration) {
  grant("t1", {"GPU-a::0"}, offered(rules()));
  auto changed = rules(Enforcement::kElastic);
  changed.memory = Bytes::from_mib(100);
  changed.compute = config::Percent{50};
  changed.policy = config::SharePolicy::kPriority;
  changed.priority = Priority::kBestEffort;
  manager_->follow(offered(changed));
  EXPECT_EQ(promised("t1"),
            (limit::TenantLimits{.id = "t1",
                                 .resource = kGpu.value,
                                 .enforcement = Enforcement::kElastic,
                                 .priority = Priority::kBestEffort,
                                 .devices = {{"GPU-a", Bytes::from_mib(100), 50, 50}}}));
  EXPECT_EQ(log_.count("the limits of 1 container changed, without a restart"), 1);
  manager_->follow(offered(changed));
  EXPECT_EQ(log_.count("without a restart"), 1);
}

TEST_F(TenantManagerTest, LimitsThatAreTurnedOffHoldNobodyAnyMore) {
  grant("t1", {"GPU-a::0"}, offered(rules()));
  manager_->follow(offered({}));
  EXPECT_EQ(promised("t1").enforcement, Enforcement::kOff);
  manager_->follow(offered(rules()));
  EXPECT_EQ(promised("t1").enforcement, Enforcement::kStrict);
}

TEST_F(TenantManagerTest, WhoseTrancheIsNoLongerOfferedKeepsWhatItHas) {
  grant("t1", {"GPU-a::3"}, offered(rules()));
  const auto before = promised("t1");
  manager_->follow(offered(rules(), 2));
  EXPECT_EQ(promised("t1"), before);
  manager_->follow({});
  EXPECT_EQ(promised("t1"), before);
}

// From 4 to 2 replicas with all four held: the two that continue stay at a quarter next to the two
// that keep one.
TEST_F(TenantManagerTest, RaisedOnlyIntoWhatOthersDoNotKeep) {
  const Names all = {"t0", "t1", "t2", "t3"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    grant(all[i], {offer::replica_id("GPU-a", static_cast<int>(i))}, offered(rules()));
  }
  const auto parts = [&] {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> out;
    for (const auto& one : all) {
      const auto limits = promised(one);
      if (limits.devices.empty()) continue;
      out.emplace_back(limits.devices[0].memory.value().mib(), limits.devices[0].permille.value());
    }
    return out;
  };
  const std::pair quarter{250U, 250U};
  const std::pair half{500U, 500U};
  manager_->follow(offered(rules(), 2));
  EXPECT_THAT(parts(), ElementsAre(quarter, quarter, quarter, quarter));
  EXPECT_EQ(log_.count("2 containers are promised more than the others on the same GPU leave"), 1);
  manager_->follow(offered(rules(), 2));
  EXPECT_EQ(log_.count("on the same GPU leave"), 1) << "said once";
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  prune(std::vector{held({"GPU-a::0", "GPU-a::1", "GPU-a::3"})});
  EXPECT_THAT(parts(), ElementsAre(half, quarter, quarter)) << "the first takes what has come free";
  prune(std::vector{held({"GPU-a::0", "GPU-a::1"})});
  EXPECT_THAT(parts(), ElementsAre(half, half));
  EXPECT_EQ(log_.count("every container has the limits that it is promised now"), 1);
}

TEST_F(TenantManagerTest, WhatIsOversubscribedIsRaisedAtOnce) {
  auto loose = rules();
  loose.oversubscribe = true;
  for (int i = 0; i < 4; ++i) {
    grant("t" + std::to_string(i), {offer::replica_id("GPU-a", i)}, offered(loose));
  }
  manager_->follow(offered(loose, 2));
  EXPECT_EQ(promised("t0").devices.at(0).memory, Bytes::from_mib(500));
  EXPECT_EQ(promised("t3").devices.at(0).memory, Bytes::from_mib(250));
}

// The resource was renamed, so containers of the old one keep their parts.
TEST_F(TenantManagerTest, PartsOfAnotherResourceCountToo) {
  auto renamed = [](int replicas) {
    auto offer = offered(rules(), replicas);
    offer.resources[0].name = {"nvidia.com/gpu.shared"};
    return offer;
  };
  grant("old", {"GPU-a::0"}, offered(rules()));
  grant("a", {"GPU-a::1"}, renamed(4));
  grant("b", {"GPU-a::0"}, renamed(4));
  manager_->follow(renamed(2));
  EXPECT_EQ(promised("old").devices.at(0).memory, Bytes::from_mib(250));
  EXPECT_EQ(promised("a").devices.at(0).memory, Bytes::from_mib(500));
  EXPECT_EQ(promised("b").devices.at(0).memory, Bytes::from_mib(250)) << "no more than the device";
  EXPECT_EQ(promised("b").devices.at(0).permille, 250U);
}

// A tenant that is lowered later in the same turn makes room.
TEST_F(TenantManagerTest, WhatIsLoweredRaisesOthersAtOnce) {
  grant("small", {"GPU-a::0"}, offered(rules()));
  auto most = rules();
  most.memory = Bytes::from_mib(700);
  most.compute = config::NoLimit{};
  most.oversubscribe = true;
  grant("large", {"GPU-a::1"}, offered(most, 2));
  manager_->follow(offered(rules(), 2));
  EXPECT_EQ(promised("small").devices.at(0).memory, Bytes::from_mib(500));
  EXPECT_EQ(promised("large").devices.at(0).memory, Bytes::from_mib(500));
}

TEST_F(TenantManagerTest, TellsThePartThatATenantHasNow) {
  grant("t1", {"GPU-a::0"}, offered(rules(), 2));
  const auto mib = [&]() -> std::optional<std::uint64_t> {
    const auto part = manager_->part_of("t1", "GPU-a").value();
    return part ? std::optional(part->memory.value().mib()) : std::nullopt;
  };
  EXPECT_EQ(mib(), 500U);
  manager_->follow(offered(rules(), 4));
  EXPECT_EQ(mib(), 250U);
  EXPECT_EQ(manager_->part_of("t1", "GPU-b").value(), std::nullopt);
  manager_->follow(offered(rules(Enforcement::kAccount)));
  EXPECT_EQ(mib(), std::nullopt) << "it is only counted";
  EXPECT_TRUE(fs_.write_atomic(state() / "tenants/t1.json", "torn"));
  EXPECT_FALSE(manager_->part_of("t1", "GPU-a")) << "failed is not the same as not limited";
}

TEST_F(TenantManagerTest, ARestartedAgentMendsWhatIsMissing) {
  grant("t1", {"GPU-a::0"}, offered(rules()));
  const auto before = promised("t1");
  std::filesystem::remove_all(state() / "tenants");
  start();
  manager_->follow(offered(rules()));
  EXPECT_EQ(promised("t1"), before);
  EXPECT_TRUE(fs_.is_directory(state() / "tenants" / "t1"));
}

TEST_F(TenantManagerTest, APromiseThatIsLostForGoodIsToldOnce) {
  grant("t1", {"GPU-a::0"}, offered(rules()));
  std::filesystem::remove_all(state() / "tenants");
  manager_->follow({});
  manager_->follow({});
  EXPECT_EQ(log_.count("what nvidia.com/gpu of tenant t1 was promised is lost"), 1);
}

TEST_F(TenantManagerTest, ATenantGoesWithItsGrant) {
  grant("kept", {"GPU-a::0"}, offered(rules()));
  grant("gone", {"GPU-a::1"}, offered(rules()));
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  grant("young", {"GPU-a::2"}, offered(rules()));
  ASSERT_TRUE(fs_.write_atomic(state() / "tenants" / "gone" / "arbiter.sock", ""));
  prune(std::vector{held({"GPU-a::0"})});
  EXPECT_EQ(tenants(), (Names{"kept", "kept.json", "young", "young.json"}));
}

TEST_F(TenantManagerTest, ATenantThatNoGrantKnowsGoes) {
  grant("t1", {"GPU-a::0"}, offered(rules()));
  std::filesystem::remove_all(state() / "grants");  // as if Allocate had been interrupted before it
  start();
  prune(std::vector{held({"GPU-a::0"})});
  EXPECT_THAT(tenants(), IsEmpty());
}

TEST_F(TenantManagerTest, WithoutAllGrantsWhatMayBeHeldStays) {
  const auto made = grant("t1", {"GPU-a::0"}, offered(rules()));
  ASSERT_TRUE(fs_.write_atomic(state() / "grants" / "grants.jsonl", "torn\n"));
  ASSERT_TRUE(fs_.write_atomic(library(), "library 2"));
  start();
  EXPECT_EQ(log_.count("a stored grant cannot be read"), 1);
  ASSERT_TRUE(manager_->prepare());
  prune(std::vector{held({"GPU-a::1"})});
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json"}));
  EXPECT_EQ(libraries().size(), 2U);
  // No container holds a tranche of the tenant's device.
  prune(std::vector{held({"GPU-b::1"})});
  EXPECT_THAT(tenants(), IsEmpty());
}

// A kubelet that starts while its API server is away lists nothing.
TEST_F(TenantManagerTest, OneEmptyAnswerRemovesNothing) {
  grant("t1", {"GPU-a::0"}, offered(rules()));
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  manager_->prune({.listed = {}, .remembered = {}});
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json"}));
  // Two answers do not count as two with a kubelet that was away in between.
  clock_.advance(kAgree);
  manager_->unanswered();
  manager_->prune({.listed = {}, .remembered = {}});
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json"}));
  clock_.advance(kAgree);
  manager_->prune({.listed = {}, .remembered = {}});
  EXPECT_THAT(tenants(), IsEmpty());
  EXPECT_EQ(log_.count("dropped 1 grant that nobody holds: GPU-a::0 of nvidia.com/gpu (tenant t1)"),
            1);
  EXPECT_EQ(log_.count("removed tenant t1"), 1);
}

TEST_F(TenantManagerTest, WhatKubeletsCheckpointNamesStays) {
  grant("t1", {"GPU-a::0"}, offered(rules()));
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  const Holders away{.listed = {}, .remembered = std::vector{held({"GPU-a::0"})}};
  prune(away);
  prune(away);
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json"}));
  EXPECT_TRUE(manager_->prune(away)) << "the checkpoint may be old";
  const Holders torn{.listed = {}, .remembered = fail(Code::kInvalidArgument, "torn")};
  prune(torn);
  EXPECT_FALSE(manager_->prune(torn));
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json"}));
  EXPECT_EQ(log_.count("grants that kubelet lists no more are kept: torn"), 1);
  EXPECT_FALSE(manager_->prune({.listed = {}, .remembered = {}}));
  EXPECT_THAT(tenants(), IsEmpty());
}

TEST_F(TenantManagerTest, WhatALivingContainerHasMountedStays) {
  const auto old = grant("t1", {"GPU-a::0"}, offered(rules()));
  ASSERT_TRUE(fs_.write_atomic(library(), "library 2"));
  start();
  ASSERT_TRUE(manager_->prepare());
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  Result<Mounted> mounted = Mounted{"t1"};
  const Holders nobody{.listed = {}, .remembered = {}, .living = [&] { return mounted; }};
  prune(nobody);
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json"}));
  mounted = fail(Code::kIo, "read /proc/7/mountinfo: Input/output error");
  prune(nobody);
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json"}));
  EXPECT_EQ(log_.count("/proc/7/mountinfo"), 1) << "said once";
  // The stored grants are lost; the container runs on.
  std::filesystem::remove_all(state() / "grants");
  start();
  ASSERT_TRUE(manager_->prepare());
  const auto hash = std::filesystem::path(old.mounts[0].host_path).parent_path().filename();
  mounted = Mounted{"t1", hash.string()};
  prune(nobody);
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json"}));
  EXPECT_EQ(libraries().size(), 2U);
  mounted = Mounted();
  prune(nobody);
  EXPECT_THAT(tenants(), IsEmpty());
  EXPECT_EQ(libraries().size(), 1U);
}

// For an agent that does not see the container's mounts.
TEST_F(TenantManagerTest, TheLibraryOfALivingTenantWhoseGrantIsLostStays) {
  grant("t1", {"GPU-a::0"}, offered(rules()));
  ASSERT_TRUE(fs_.write_atomic(library(), "library 2"));
  std::filesystem::remove_all(state() / "grants");
  start();
  ASSERT_TRUE(manager_->prepare());
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  Mounted living = {"t1"};
  const Holders nobody{.listed = {}, .remembered = {}, .living = [&] { return living; }};
  prune(nobody);
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json"}));
  EXPECT_EQ(libraries().size(), 2U);
  living.clear();
  prune(nobody);
  EXPECT_THAT(tenants(), IsEmpty());
  EXPECT_EQ(libraries().size(), 1U);
}

TEST_F(TenantManagerTest, WhatCouldNotBeReadIsForgottenWhenNobodyCanHoldIt) {
  grant("t1", {"GPU-a::0"}, offered(rules()));
  ASSERT_TRUE(fs_.write_atomic(state() / "grants" / "grants.jsonl", "torn\n"));
  start();
  grant("t2", {"GPU-a::1"}, offered(rules()));
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  prune({held({"GPU-a::0"}), held({"GPU-a::1"})});
  EXPECT_TRUE(grants_->incomplete()) << "somebody holds what no grant knows";
  prune({held({"GPU-a::1"})});
  EXPECT_FALSE(grants_->incomplete());
  EXPECT_FALSE(fs_.exists(state() / "grants" / "rejected.jsonl"));
  prune({held({"GPU-a::1"})});
  EXPECT_EQ(tenants(), (Names{"t2", "t2.json"})) << "sweeps go on";
  start();
  EXPECT_FALSE(grants_->incomplete());
}

TEST_F(TenantManagerTest, ALibraryStaysWhileAGrantMountsIt) {
  const auto old = grant("t1", {"GPU-a::0"}, offered(rules()));
  ASSERT_TRUE(fs_.write_atomic(library(), "library 2"));
  start();  // the next release
  const auto made = grant("t2", {"GPU-a::1"}, offered(rules()));
  EXPECT_NE(made.mounts[0].host_path, old.mounts[0].host_path);
  prune(std::vector{held({"GPU-a::0", "GPU-a::1"})});
  EXPECT_EQ(fs_.read(old.mounts[0].host_path).value(), "library 1");
  EXPECT_EQ(fs_.read(made.mounts[0].host_path).value(), "library 2");
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  prune(std::vector{held({"GPU-a::1"})});
  EXPECT_FALSE(fs_.exists(old.mounts[0].host_path));
  EXPECT_TRUE(fs_.exists(made.mounts[0].host_path));
  EXPECT_EQ(libraries().size(), 1U);
  EXPECT_EQ(log_.count("no container mounts it any more"), 1);
  // This release's library stays even without a grant.
  prune();
  EXPECT_EQ(libraries().size(), 1U);
}

// gRPC threads, the timer and the loop at once: exactly what is granted is there.
TEST_F(TenantManagerTest, EveryThreadFindsWhatItStored) {
  constexpr int kThreads = 4;
  constexpr int kGrants = 25;
  const auto offer = offered(rules(), kThreads * kGrants);
  ASSERT_TRUE(manager_->prepare());
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kGrants; ++i) {
        const int number = thread * kGrants + i;
        grant("t" + std::to_string(number), {offer::replica_id("GPU-a", number)}, offer);
      }
    });
  }
  auto changed = rules();
  for (int i = 0; i < 50; ++i) {
    changed.compute = config::Percent{1 + i % 9};
    manager_->follow(offered(changed, kThreads * kGrants));
    manager_->prune({.listed = {}, .remembered = {}});
  }
  threads.clear();
  manager_->follow(offered(changed, kThreads * kGrants));
  EXPECT_EQ(grants_->all().size(), std::size_t{kThreads} * kGrants);
  EXPECT_EQ(tenants().size(), std::size_t{2} * kThreads * kGrants);
  for (int i = 0; i < kThreads * kGrants; ++i) {
    EXPECT_EQ(promised("t" + std::to_string(i)).devices.at(0).permille, 1U + 49 % 9) << i;
  }
}

// A file on a disk that hangs: whoever reads it waits until release().
class HangingFile {
 public:
  explicit HangingFile(std::filesystem::path path, std::string content)
      : path_(std::move(path)), content_(std::move(content)) {
    std::filesystem::remove(path_);
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  }
  ~HangingFile() { release(); }
  HangingFile(const HangingFile&) = delete;
  HangingFile& operator=(const HangingFile&) = delete;

  bool reached() {
    return test::eventually([&] {
      fd_ = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      return fd_ >= 0;
    });
  }
  void release() {
    if (fd_ < 0) return;
    EXPECT_TRUE(FsRoot().write_atomic(path_, content_));  // for those who read it later
    EXPECT_EQ(::write(fd_, content_.data(), content_.size()),
              static_cast<ssize_t>(content_.size()));
    ::close(std::exchange(fd_, -1));
  }

 private:
  std::filesystem::path path_;
  std::string content_;
  int fd_ = -1;
};

struct AtWork {
  const char* name;
  std::string file;  // the file in the test's folder that `work` reads
  std::function<void(TenantManager&, const std::filesystem::path& file)> work;
};

const AtWork kWork[] = {
    {"Follow", "s/tenants/t1.json",
     [](TenantManager& manager, const auto&) { manager.follow(offered(rules())); }},
    {"Settle", "s/tenants/t1.json",
     [](TenantManager& manager, const auto&) { manager.settle({}); }},
    {"Prune", "s/tenants/gone.json",
     [](TenantManager& manager, const auto& file) {
       manager.prune({.listed = {}, .remembered = {}, .living = [&]() -> Result<Mounted> {
                        (void)FsRoot().read(file);
                        return Mounted();
                      }});
     }},
    {"Prepare", "libtranche-limit.so",
     [](TenantManager& manager, const auto&) { EXPECT_TRUE(manager.prepare()); }},
    {"PrepareHook", "tranche-limit-hook",
     [](TenantManager& manager, const auto&) { EXPECT_TRUE(manager.prepare_hook()); }},
};

class TenantManagerAtWork : public TenantManagerTest, public testing::WithParamInterface<AtWork> {};

TEST_P(TenantManagerAtWork, AGrantIsStoredMeanwhile) {
  ASSERT_TRUE(fs_.write_atomic(dir_.path() / "tranche-limit-hook", "program"));
  grant("t1", {"GPU-a::0"}, offered(rules()));
  const auto mounts = manager_->prepare().value();
  const std::string new_ids[] = {"GPU-a::1"};
  const auto made =
      offer::make_grant(offered(rules()).resources[0], {.limits = mounts}, new_ids, "t2").value();
  const auto tenant_file = fs_.read(state() / "tenants" / "t1.json").value();
  start();
  const auto file = dir_.path() / GetParam().file;
  const auto content = fs_.read(file).value_or(tenant_file);
  HangingFile hanging(file, content);
  std::jthread worker([&] { GetParam().work(*manager_, file); });
  ASSERT_TRUE(hanging.reached());
  EXPECT_TRUE(manager_->store(made));
  EXPECT_EQ(promised("t2").devices.at(0).memory, Bytes::from_mib(250));
  EXPECT_EQ(grants_->all().size(), 2U);
  hanging.release();
  worker.join();
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json", "t2", "t2.json"}));
}

INSTANTIATE_TEST_SUITE_P(Work, TenantManagerAtWork, testing::ValuesIn(kWork),
                         [](const auto& at) { return std::string(at.param.name); });

TEST_F(TenantManagerTest, ATenantThatIsBeingStoredIsNotTakenForOneThatIsGone) {
  std::promise<void> reached;
  std::promise<void> disk;
  std::atomic<bool> first = true;
  ASSERT_TRUE(manager_->prepare());
  grants_ = GrantStore::open(state() / "grants", clock_, log_.log(), [&](auto) -> Result<void> {
              if (!first.exchange(false)) return {};
              reached.set_value();
              disk.get_future().wait();
              return {};
            }).value();
  manager_.emplace(
      TenantManager::Options{.library = library(), .state_dir = state(), .cdi_root = cdi()},
      *grants_, clock_, log_.log());
  std::jthread one([&] { grant("t1", {"GPU-a::0"}, offered(rules())); });
  reached.get_future().wait();
  // Its record waits for the one with the same id: the files exist, the grant is not recorded yet.
  std::jthread other([&] { grant("t2", {"GPU-a::0"}, offered(rules())); });
  const auto file = state() / "tenants" / "t2.json";
  EXPECT_TRUE(test::eventually([&] { return fs_.exists(file); }));
  manager_->prune({.listed = {}, .remembered = {}});
  EXPECT_TRUE(fs_.exists(file));
  EXPECT_EQ(grants_->all().size(), 1U);
  disk.set_value();
  one.join();
  other.join();
  EXPECT_EQ(tenants(), (Names{"t1", "t1.json", "t2", "t2.json"}));
}

TEST_F(TenantManagerTest, AGrantThatCannotBeRecordedLeavesNoTenant) {
  ASSERT_TRUE(manager_->prepare());
  grants_ = GrantStore::open(state() / "grants", clock_, log_.log(), [](auto) -> Result<void> {
              return fail(Code::kUnavailable, "no space left");
            }).value();
  manager_.emplace(
      TenantManager::Options{.library = library(), .state_dir = state(), .cdi_root = cdi()},
      *grants_, clock_, log_.log());
  const auto mounts = manager_->prepare().value();
  const std::string ids[] = {"GPU-a::0"};
  const auto offer = offered(rules());
  const auto made = offer::make_grant(offer.resources[0], {.limits = mounts}, ids, "t1").value();
  const auto stored = manager_->store(made);
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().message(),
            "this container's GPU limits cannot be stored: no space left");
  EXPECT_THAT(tenants(), IsEmpty());
  EXPECT_THAT(grants_->all(), IsEmpty());
}

TEST(LimitLibrary, LiesNextToTheProgram) {
  EXPECT_EQ(library_next_to_program().filename(), "libtranche-limit.so");
  EXPECT_EQ(library_next_to_program().parent_path().filename(), "lib");
}

class LimitSettingsKeptTest : public TenantManagerTest {
 protected:
  LimitSettingsKeptTest() {
    grant("t1", {"GPU-a::0"}, offer_);
    grant("t2", {"GPU-a::1"}, offer_);
    manager_->follow(offer_);
  }
  static std::vector<TenantManager::Setting> memory(std::string text,
                                                    Raising raising = Raising::kAllowed) {
    return {{{.resource = kGpu.value, .memory = std::move(text), .compute = {}, .priority = {}},
             raising}};
  }
  std::optional<std::uint64_t> mib(const std::string& tenant) const {
    const auto memory = promised(tenant).devices.at(0).memory;
    return memory ? std::optional(memory->mib()) : std::nullopt;
  }

  offer::Offer offer_ = offered(rules());  // 250 MiB each
};

TEST_F(LimitSettingsKeptTest, LoweredAndTakenBack) {
  const auto answers = manager_->settle({{"t1", memory("100Mi")}});
  ASSERT_TRUE(answers.at("t1").at(0)) << answers.at("t1").at(0).error().message();
  EXPECT_EQ(mib("t1"), 100U);
  EXPECT_TRUE(promised("t1").set_by_operator);
  EXPECT_EQ(mib("t2"), 250U);
  manager_->follow(offer_);
  EXPECT_EQ(mib("t1"), 100U) << "a change of the offer does not undo it";
  EXPECT_TRUE(manager_->settle({}).empty());
  EXPECT_EQ(mib("t1"), 250U);
  EXPECT_FALSE(promised("t1").set_by_operator);
}

TEST_F(LimitSettingsKeptTest, RaisedOnlyByWhatIsPromisedToNobody) {
  auto answers = manager_->settle({{"t1", memory("400Mi")}});
  ASSERT_FALSE(answers.at("t1").at(0));
  EXPECT_EQ(answers.at("t1").at(0).error().code, Code::kFailedPrecondition);
  EXPECT_THAT(answers.at("t1").at(0).error().message(),
              HasSubstr("400 MiB cannot be kept: GPU-a has 1000 MiB, and 750 MiB of them"));
  EXPECT_EQ(mib("t1"), 250U) << "what was promised stands";
  answers = manager_->settle({{"t2", memory("100Mi")}});
  answers = manager_->settle({{"t1", memory("400Mi")}, {"t2", memory("100Mi")}});
  EXPECT_TRUE(answers.at("t1").at(0));
  EXPECT_EQ(mib("t1"), 400U);
  EXPECT_EQ(mib("t2"), 100U);
}

TEST_F(LimitSettingsKeptTest, WhatWasGrantedAnewIsNotPromisedTwice) {
  grant("t3", {"GPU-a::1"}, offer_);  // t2 is gone; its grant is kept for a while
  const auto answers = manager_->settle({{"t1", memory("251Mi")}});
  ASSERT_FALSE(answers.at("t1").at(0));
  EXPECT_THAT(answers.at("t1").at(0).error().message(), HasSubstr("750 MiB of them"));
}

TEST_F(LimitSettingsKeptTest, PartsOfAnotherResourceArePromisedToo) {
  auto renamed = offered(rules());
  renamed.resources[0].name = {"nvidia.com/gpu.shared"};
  renamed.resources[0].tranches[2].withheld = true;
  renamed.resources[0].tranches[3].withheld = true;
  grant("new", {"GPU-a::1"}, renamed);
  manager_->follow(renamed);
  const auto answers = manager_->settle({{"new", memory("251Mi")}});
  ASSERT_FALSE(answers.at("new").at(0));
  EXPECT_THAT(answers.at("new").at(0).error().message(), HasSubstr("750 MiB of them"))
      << "t1, t2, and one that is free";
}

// The annotation is below the configuration's limit, but the rest of the GPU is not free yet.
TEST_F(LimitSettingsKeptTest, AnAnnotationDoesNotRaiseIntoWhatOthersKeep) {
  grant("t3", {"GPU-a::2"}, offer_);
  grant("t4", {"GPU-a::3"}, offer_);
  manager_->follow(offered(rules(), 2));
  EXPECT_TRUE(manager_->settle({{"t1", memory("400Mi", Raising::kRefused)}}).at("t1").at(0));
  EXPECT_EQ(mib("t1"), 250U);
  EXPECT_FALSE(manager_->settle({{"t1", memory("400Mi")}}).at("t1").at(0)) << "nor the operator";
  EXPECT_EQ(mib("t1"), 250U);
  EXPECT_TRUE(manager_->settle({{"t1", memory("100Mi", Raising::kRefused)}}).at("t1").at(0));
  EXPECT_EQ(mib("t1"), 100U);
}

TEST_F(LimitSettingsKeptTest, OversubscribedAnythingGoes) {
  auto loose = rules();
  loose.oversubscribe = true;
  manager_->follow(offered(loose));
  EXPECT_TRUE(manager_->settle({{"t1", memory("none")}}).at("t1").at(0));
  EXPECT_EQ(mib("t1"), std::nullopt);
}

TEST_F(LimitSettingsKeptTest, TheFirstThatCanBeKeptHolds) {
  auto settings = memory("400Mi");
  for (const auto& [text, raising] : {std::pair{"lots", Raising::kAllowed},
                                      {"300Mi", Raising::kRefused},
                                      {"100Mi", Raising::kRefused},
                                      {"50Mi", Raising::kRefused}}) {
    settings.push_back(memory(text, raising).front());
  }
  const auto tried = manager_->settle({{"t1", settings}}).at("t1");
  ASSERT_EQ(tried.size(), 4U) << "what is behind the one that holds is not tried";
  EXPECT_EQ(tried[0].error().code, Code::kFailedPrecondition);
  EXPECT_EQ(tried[1].error().code, Code::kInvalidArgument);
  EXPECT_EQ(tried[2].error().code, Code::kPermission);
  EXPECT_EQ(tried[3].value(), promised("t1"));
  EXPECT_EQ(mib("t1"), 100U);
}

TEST_F(LimitSettingsKeptTest, WhoeverOwnsThePodOnlyLowers) {
  EXPECT_TRUE(manager_->settle({{"t1", memory("100Mi", Raising::kRefused)}}).at("t1").at(0));
  EXPECT_EQ(mib("t1"), 100U);
  EXPECT_FALSE(promised("t1").set_by_operator);
  const auto answers = manager_->settle({{"t1", memory("300Mi", Raising::kRefused)}});
  ASSERT_FALSE(answers.at("t1").at(0));
  EXPECT_EQ(answers.at("t1").at(0).error().code, Code::kPermission);
  EXPECT_EQ(mib("t1"), 250U);
}

TEST_F(LimitSettingsKeptTest, OutlivesTheAgent) {
  manager_->settle({{"t1", memory("100Mi")}});
  start();
  manager_->follow(offer_);
  EXPECT_EQ(mib("t1"), 100U) << "kept until it is known what is set now";
  manager_->settle({{"t1", memory("100Mi")}});
  EXPECT_EQ(mib("t1"), 100U);
  start();
  manager_->follow(offer_);
  manager_->settle({});
  EXPECT_EQ(mib("t1"), 250U);
}

TEST_F(LimitSettingsKeptTest, AnsweredOnlyForThoseThatAreSet) {
  EXPECT_EQ(manager_->settle({{"t1", memory("100Mi")}, {"gone", memory("1Mi")}}).size(), 1U);
}

GrantLimits of_claim(std::uint64_t mib) {
  return {.enforcement = Enforcement::kStrict,
          .devices = {{.uuid = "GPU-a", .memory = Bytes::from_mib(mib)}}};
}

TEST_F(TenantManagerTest, TheTenantOfAClaimStaysAsLongAsTheClaim) {
  ASSERT_TRUE(manager_->prepare());
  ASSERT_TRUE(manager_->add_claim("share", "gpu.nvidia.com", of_claim(100)));
  bool known = false;
  std::vector<ClaimTenant> claims = {
      {.id = "share", .driver = "gpu.nvidia.com", .limits = of_claim(100)}};
  manager_->know_claims([&]() -> Result<std::vector<ClaimTenant>> {
    if (!known) return fail(Code::kUnavailable, "not yet");
    return claims;
  });
  prune();
  EXPECT_THAT(tenants(), ElementsAre("share", "share.json")) << "nobody knows whose it is";
  known = true;
  prune();
  EXPECT_THAT(tenants(), ElementsAre("share", "share.json"));
  claims.clear();
  prune();
  EXPECT_THAT(tenants(), IsEmpty());
}

TEST_F(TenantManagerTest, TheTenantOfAClaimIsWrittenAnewWhenItsClaimsAreOthers) {
  ASSERT_TRUE(manager_->add_claim("share", "gpu.nvidia.com", of_claim(100)));
  ASSERT_TRUE(manager_->add_claim("share", "gpu.nvidia.com", of_claim(200)));
  EXPECT_EQ(promised("share").devices.at(0).memory, Bytes::from_mib(100))
      << "it may have been lowered by hand";
  ASSERT_TRUE(manager_->add_claim("share", "gpu.nvidia.com", of_claim(200), true));
  EXPECT_EQ(promised("share").devices.at(0).memory, Bytes::from_mib(200));
}

}  // namespace
}  // namespace tranche::agent::tenant_manager_test
