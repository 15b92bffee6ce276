#include "labels/reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "labels/labels.h"
#include "labels/limit_labels.h"
#include "offer/make_offer.h"
#include "support/machines.h"

namespace tranche::labels::reference_test {
namespace {

// Together these machines and configurations yield all labels.
std::set<std::string> every_key() {
  auto guest = test::machine_of({test::h100(0).fabric("c", 1)});
  guest.host.vgpu = gpu::VgpuInfo{.host_driver_version = "1", .host_driver_branch = "r1"};
  const auto mig = test::machine_of({test::a100_40gb(0).mig({"1g.5gb"})});
  config::Config single;
  single.flags.mig_strategy = config::MigStrategy::kSingle;
  config::Config mixed;
  mixed.flags.mig_strategy = config::MigStrategy::kMixed;

  std::set<std::string> keys;
  for (const auto& set : {make_labels(guest, {}, {.timestamp = 1}), make_labels(mig, single, {}),
                          make_labels(mig, mixed, {})}) {
    EXPECT_TRUE(set.has_value());
    if (!set) continue;
    for (const auto& [key, value] : set->labels) keys.insert(key);
  }
  mixed.tranche.limits.general.enforcement = Enforcement::kStrict;
  for (const auto& [key, value] : limit_labels(offer::make_offer(mig, mixed, {}))) {
    keys.insert(key);
  }
  return keys;
}

TEST(LabelReference, DescribesEveryLabelAndNoOther) {
  std::set<std::string_view> described;
  for (const auto& key : every_key()) {
    const auto* row = find_label(key);
    ASSERT_NE(row, nullptr) << key;
    described.insert(row->key);
  }
  for (const auto& row : label_table()) {
    EXPECT_TRUE(described.contains(row.key)) << row.key << " is never written";
  }
}

TEST(LabelReference, UnknownKeys) {
  EXPECT_EQ(find_label("nvidia.com/gpu.colour"), nullptr);
  EXPECT_EQ(find_label("nvidia.com/mig-.count"), nullptr);
  EXPECT_EQ(find_label("example.com/gpu.count"), nullptr);
  EXPECT_EQ(find_label("tranche.dev/.limits"), nullptr);
  EXPECT_EQ(find_label("tranche.dev/gpu"), nullptr);
}

TEST(LabelReference, PageIsUpToDate) {
  std::ifstream file("docs/reference/labels.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(page == render_reference())
      << "docs/reference/labels.md is not what src/kubernetes/labels/reference.cpp says: run `make "
         "reference`";
}

}  // namespace
}  // namespace tranche::labels::reference_test
