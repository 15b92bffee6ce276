#include "limit/by_tenant.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace tranche::limit::by_tenant_test {
namespace {

// With any additions and removals it holds the same as a std::map, in the same order.
RC_GTEST_PROP(ByTenant, IsAMap, ()) {
  ByTenant<int> flat;
  std::map<TenantId, int> tree;
  const auto steps = *rc::gen::container<std::vector<std::pair<unsigned, int>>>(
      rc::gen::pair(rc::gen::inRange(0U, 12U), rc::gen::inRange(-9, 9)));
  for (const auto& [number, value] : steps) {
    const TenantId tenant{number};
    if (value < -3) {
      flat.erase(tenant);
      tree.erase(tenant);
    } else if (value < 3) {
      const auto [entry, is_new] = flat.try_emplace(tenant, value);
      RC_ASSERT(is_new == tree.try_emplace(tenant, value).second);
      RC_ASSERT(entry->second == tree.at(tenant));
    } else {
      flat[tenant] += value;
      tree[tenant] += value;
    }
    RC_ASSERT(flat.contains(tenant) == tree.contains(tenant));
    RC_ASSERT(std::ranges::equal(flat, tree, [](const auto& a, const auto& b) {
      return a.first == b.first && a.second == b.second;
    }));
  }
}

TEST(ByTenant, AnUnknownTenantIsNotFound) {
  const ByTenant<int> flat{{TenantId{3}, 30}, {TenantId{1}, 10}, {TenantId{3}, 31}};
  EXPECT_EQ(flat.size(), 2U);
  EXPECT_EQ(flat.at(TenantId{3}), 30) << "what is there stays";
  EXPECT_EQ(flat.find(TenantId{2}), flat.end());
  EXPECT_THROW((void)flat.at(TenantId{2}), std::out_of_range);
}

}  // namespace
}  // namespace tranche::limit::by_tenant_test
