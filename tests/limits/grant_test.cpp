// From a grant to the policy page of a process: the agent's side and the arbiter's over one folder.

#include <gtest/gtest.h>

#include "agent/limits/tenant_manager.h"
#include "arbiter/arbiter.h"
#include "limits/library.h"
#include "offer/grant_maker.h"
#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::grant_test {
namespace {

using namespace std::chrono_literals;
namespace wire = limit::wire;
using test::Library;

constexpr char kGpu[] = "GPU-00112233-4455-6677-8899-aabbccddeeff";
constexpr char kMig[] = "MIG-00112233-4455-6677-8899-aabbccddee00";
constexpr std::uint64_t kMiB = 1U << 20U;

offer::Offer offered(config::Limits rules) {
  offer::ResourceOffer resource;
  resource.name = resource.base = {"nvidia.com/gpu"};
  resource.devices = {{.uuid = kGpu, .memory = Bytes::from_mib(1000)},
                      {.uuid = kMig, .memory = Bytes::from_mib(100)}};
  for (std::size_t device = 0; device < 2; ++device) {
    for (int i = 0; i < 4; ++i) {
      resource.tranches.push_back({offer::replica_id(resource.devices[device].uuid, i), device});
    }
  }
  if (rules.on()) resource.limits = offer::OfferLimits{rules, {4, 4}};
  return {.resources = {resource}};
}

class GrantLimitsTest : public testing::Test {
 protected:
  GrantLimitsTest() {
    EXPECT_TRUE(FsRoot().write_atomic(dir_.path() / "library", "library"));
    EXPECT_TRUE(FsRoot().make_directories(tenants()));
    grants_ = agent::GrantStore::open(dir_.path() / "grants", clock_, log_.log()).value();
    manager_.emplace(
        agent::TenantManager::Options{.library = dir_.path() / "library", .state_dir = dir_.path()},
        *grants_, clock_, log_.log());
    arbiter_ =
        arbiter::Arbiter::open({tenants(), dir_.path() / "arbiter"}, clock_, log_.log()).value();
  }

  std::filesystem::path tenants() const { return dir_.path() / "tenants"; }
  void rounds(int count) {
    for (int i = 0; i < count; ++i) arbiter_->round(0ms);
  }

  // A process in the container that the grant is for.
  Library container(const std::string& tenant, const std::vector<std::string>& ids,
                    const offer::Offer& offer) {
    const auto mounts = manager_->prepare().value();
    const auto grant =
        offer::make_grant(offer.resources[0], {.limits = mounts}, ids, tenant).value();
    EXPECT_TRUE(manager_->store(grant));
    rounds(2);
    Library library;
    EXPECT_TRUE(library.connect_to(grant.mounts.back().host_path + "/arbiter.sock"));
    EXPECT_TRUE(library.hello());
    rounds(3);
    EXPECT_TRUE(library.receive());
    return library;
  }

  test::TempDir dir_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  std::unique_ptr<agent::GrantStore> grants_;
  std::optional<agent::TenantManager> manager_;
  std::unique_ptr<arbiter::Arbiter> arbiter_;
};

TEST_F(GrantLimitsTest, ReachTheProcessAndFollowTheConfiguration) {
  config::Limits rules{.enforcement = Enforcement::kStrict};
  const auto library = container(
      "t1", {offer::replica_id(kMig, 2), offer::replica_id(kGpu, 0), offer::replica_id(kGpu, 3)},
      offered(rules));
  ASSERT_EQ(library.welcome.answer, wire::Answer::kAccepted);
  const auto& page = *library.policy;
  ASSERT_EQ(page.device_count, 2);
  EXPECT_EQ(page.devices[0].memory_limit, 25 * kMiB) << "as the request names them";
  EXPECT_EQ(page.devices[1].memory_limit, 500 * kMiB);
  EXPECT_EQ(page.enforcement, static_cast<std::uint32_t>(Enforcement::kStrict));

  rules.memory = config::Percent{100};
  rules.policy = config::SharePolicy::kPriority;
  rules.priority = Priority::kBestEffort;
  manager_->follow(offered(rules));
  rounds(2);
  EXPECT_EQ(page.devices[0].memory_limit, 10 * kMiB);
  EXPECT_EQ(page.devices[1].memory_limit, 200 * kMiB);
  EXPECT_EQ(page.priority, static_cast<std::uint32_t>(Priority::kBestEffort));

  rules.enforcement = Enforcement::kElastic;
  rules.memory_hard = config::Percent{150};
  manager_->follow(offered(rules));
  rounds(2);
  EXPECT_EQ(page.devices[0].memory_limit, 15 * kMiB) << "nobody else wants what it borrows";
  EXPECT_EQ(page.devices[1].memory_limit, 300 * kMiB);

  manager_->follow(offered({}));
  rounds(2);
  EXPECT_EQ(page.enforcement, static_cast<std::uint32_t>(Enforcement::kOff));
  EXPECT_EQ(page.devices[1].memory_limit, wire::kNoLimit);
  EXPECT_EQ(log_.count("tenant"), 0) << "the arbiter had nothing to complain of";
}

TEST_F(GrantLimitsTest, EndWithTheGrant) {
  const config::Limits rules{.enforcement = Enforcement::kStrict};
  container("gone", {offer::replica_id(kGpu, 0)}, offered(rules));
  container("kept", {offer::replica_id(kGpu, 1)}, offered(rules));
  EXPECT_EQ(arbiter_->tenants(), 2U);
  clock_.advance(agent::GrantStore::kSettle + 1s);
  const std::vector<cluster::HeldDevices> held{
      {"ns", "pod", "c", "nvidia.com/gpu", {offer::replica_id(kGpu, 1)}}};
  manager_->prune({.listed = held, .remembered = held});
  clock_.advance(agent::kAgree);
  manager_->prune({.listed = held, .remembered = held});
  rounds(2);
  EXPECT_EQ(arbiter_->tenants(), 1U);
  EXPECT_FALSE(std::filesystem::exists(tenants() / "gone"));
  EXPECT_TRUE(std::filesystem::exists(tenants() / "kept" / "arbiter.sock"));
}

}  // namespace
}  // namespace tranche::grant_test
