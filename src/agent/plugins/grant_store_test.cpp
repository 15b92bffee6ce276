#include "agent/plugins/grant_store.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::grant_store_test {
namespace {

offer::Grant grant_of(std::vector<std::string> ids,
                      const std::string& resource = "nvidia.com/gpu") {
  offer::Grant grant;
  grant.resource = {resource};
  grant.envs["NVIDIA_VISIBLE_DEVICES"] = ids.front();
  grant.ids = std::move(ids);
  return grant;
}

std::vector<std::string> first_ids(const GrantStore& store) {
  std::vector<std::string> ids;
  for (const auto& record : store.all()) ids.push_back(record.grant.ids.front());
  std::ranges::sort(ids);
  return ids;
}

class GrantStoreTest : public testing::Test {
 protected:
  std::unique_ptr<GrantStore> open() {
    auto store = GrantStore::open(dir_.path() / "grants", clock_, log_.log());
    EXPECT_TRUE(store) << store.error().what;
    return *std::move(store);
  }
  FsRoot fs() const { return FsRoot(dir_.path() / "grants"); }

  test::TempDir dir_;
  test::FakeClock clock_;
  test::LogRecorder log_;
};

TEST_F(GrantStoreTest, RestoresWhatWasAdded) {
  std::vector<offer::GrantRecord> before;
  {
    const auto store = open();
    ASSERT_TRUE(store->add(grant_of({"GPU-a::0", "GPU-a::1"})));
    ASSERT_TRUE(store->add(grant_of({"GPU-b::0"})));
    before = store->all();
  }
  EXPECT_EQ(open()->all(), before);
}

TEST_F(GrantStoreTest, AnIdGrantedAnewReplacesItsOldRecord) {
  const auto store = open();
  ASSERT_TRUE(store->add(grant_of({"GPU-a::0"})));
  ASSERT_TRUE(store->add(grant_of({"GPU-a::0"}, "nvidia.com/gpu.shared")));
  ASSERT_TRUE(store->add(grant_of({"GPU-a::0"})));
  EXPECT_EQ(store->all().size(), 2U);
  EXPECT_EQ(open()->all().size(), 2U);
}

TEST_F(GrantStoreTest, PrunesOnlyWhatNobodyHoldsAndIsSettled) {
  const auto store = open();
  ASSERT_TRUE(store->add(grant_of({"GPU-held"})));
  ASSERT_TRUE(store->add(grant_of({"GPU-gone"})));
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  ASSERT_TRUE(store->add(grant_of({"GPU-young"})));
  const std::vector<cluster::HeldDevices> held = {
      {"ns", "pod", "c", "nvidia.com/gpu", {"GPU-held"}},
      {"ns", "pod", "c", "nvidia.com/other", {"GPU-gone"}},
  };
  store->prune(held);
  EXPECT_EQ(first_ids(*store), (std::vector<std::string>{"GPU-held", "GPU-young"}));
  EXPECT_EQ(first_ids(*open()), (std::vector<std::string>{"GPU-held", "GPU-young"}));
}

offer::Grant tenant_of_ids(const std::string& tenant, std::vector<std::string> ids) {
  auto grant = grant_of(std::move(ids));
  grant.mounts = {{"/run/tranche/" + tenant, "/s/tenants/" + tenant, true}};
  return grant;
}

std::vector<std::string> tenants(const GrantStore& store) {
  std::vector<std::string> ids;
  for (const auto& record : store.all()) ids.emplace_back(offer::tenant_of(record.grant));
  return ids;
}

using Names = std::vector<std::string>;

// Kubelet asks for an init container and for the container before it starts either.
TEST_F(GrantStoreTest, TheTenantsOfOnePodAreKeptTogether) {
  const auto store = open();
  ASSERT_TRUE(store->add(tenant_of_ids("init", {"GPU-a::0"})));
  clock_.advance(std::chrono::seconds(2));
  ASSERT_TRUE(store->add(tenant_of_ids("main", {"GPU-a::0", "GPU-a::1"})));
  EXPECT_EQ(tenants(*store), (Names{"init", "main"}));
  EXPECT_EQ(tenants(*open()), (Names{"init", "main"}));

  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  store->prune(
      std::vector<cluster::HeldDevices>{{"ns", "pod", "c", "nvidia.com/gpu", {"GPU-a::0"}}});
  EXPECT_EQ(tenants(*store), (Names{"init", "main"}));
  // The next Pod with one of their ids: both are gone.
  ASSERT_TRUE(store->add(tenant_of_ids("next", {"GPU-a::0", "GPU-a::2"})));
  EXPECT_EQ(tenants(*store), (Names{"next"}));
  EXPECT_EQ(tenants(*open()), (Names{"next"}));
}

TEST_F(GrantStoreTest, ASupersededTenantGoesWithItsPod) {
  const auto store = open();
  ASSERT_TRUE(store->add(tenant_of_ids("init", {"GPU-a::0"})));
  ASSERT_TRUE(store->add(tenant_of_ids("main", {"GPU-a::0"})));
  ASSERT_TRUE(store->add(tenant_of_ids("other", {"GPU-a::1"})));
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  store->prune(
      std::vector<cluster::HeldDevices>{{"ns", "pod", "c", "nvidia.com/gpu", {"GPU-a::1"}}});
  EXPECT_EQ(tenants(*store), (Names{"other"}));
}

TEST_F(GrantStoreTest, ATornLineIsSetAsideAndReported) {
  {
    const auto store = open();
    ASSERT_TRUE(store->add(grant_of({"GPU-a"})));
    ASSERT_TRUE(store->add(grant_of({"GPU-b"})));
  }
  const auto text = fs().read("/grants.jsonl").value();
  ASSERT_TRUE(fs().write_atomic("/grants.jsonl", text.substr(0, text.size() - 10)));
  EXPECT_EQ(first_ids(*open()), std::vector<std::string>{"GPU-a"});
  EXPECT_EQ(log_.count("cannot be read"), 1);
  EXPECT_FALSE(fs().read("/rejected.jsonl").value().empty());
  EXPECT_EQ(first_ids(*open()), std::vector<std::string>{"GPU-a"});
  EXPECT_EQ(log_.count("cannot be read"), 1) << "reported once";
}

TEST_F(GrantStoreTest, ALastLineWithoutItsEndIsMended) {
  {
    const auto store = open();
    ASSERT_TRUE(store->add(grant_of({"GPU-a"})));
  }
  const auto text = fs().read("/grants.jsonl").value();
  ASSERT_TRUE(fs().write_atomic("/grants.jsonl", text.substr(0, text.size() - 1)));
  ASSERT_TRUE(open()->add(grant_of({"GPU-b"})));
  EXPECT_EQ(first_ids(*open()), (std::vector<std::string>{"GPU-a", "GPU-b"}));
  EXPECT_EQ(log_.count("cannot be read"), 0);
}

TEST_F(GrantStoreTest, TheFileStaysBounded) {
  const auto store = open();
  for (int i = 0; i < 9000; ++i) {
    ASSERT_TRUE(store->add(grant_of({"GPU-" + std::to_string(i % 4)})));
  }
  EXPECT_EQ(store->all().size(), 4U);
  const auto text = fs().read("/grants.jsonl").value();
  EXPECT_LT(std::ranges::count(text, '\n'), 4200);
}

TEST(GrantStore, AFolderThatCannotBeMadeIsAnError) {
  const test::TempDir dir;
  const FsRoot fs(dir.path());
  ASSERT_TRUE(fs.write_atomic("/file", "x"));
  const test::FakeClock clock;
  const test::LogRecorder log;
  EXPECT_FALSE(GrantStore::open(dir.path() / "file" / "grants", clock, log.log()));
}

}  // namespace
}  // namespace tranche::agent::grant_store_test
