// The ResourceSlices that dra/ makes, on the fake and, if TRANCHE_TEST_KUBECONFIG names a
// kubeconfig with all rights, on a real API server with its default feature gates: it takes every
// field, returns what was written, and finds them by node and driver.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "base/uuid.h"
#include "cluster/kinds.h"
#include "dra/pool.h"
#include "dra/publication.h"
#include "gpu/mig_tables.h"
#include "kube/client.h"
#include "support/fake_objects.h"
#include "support/machines.h"

namespace tranche::dra::slices_contract_test {
namespace {

using cluster::kResourceSlice;
using cluster::ResourceSlice;
using testing::IsEmpty;

constexpr auto kKubeconfig = "TRANCHE_TEST_KUBECONFIG";

std::unique_ptr<cluster::Objects> objects_of(const std::string& server) {
  if (server == "fake") return std::make_unique<test::FakeObjects>();
  return kube::Client::open(kube::load_kubeconfig(std::getenv(kKubeconfig)).value(), {}).value();
}

std::vector<std::string> servers() {
  return std::getenv(kKubeconfig) == nullptr ? std::vector<std::string>{"fake"}
                                             : std::vector<std::string>{"fake", "real"};
}

// Every kind of device and every field.
Pool pool_of(int gpus) {
  auto machine = test::machine_of(gpus, test::h100);
  machine.gpus.push_back(test::a100_40gb(gpus).mig({"1g.5gb+me", "1c.2g.10gb"}).build());
  machine.gpus.push_back(test::t4(gpus + 1).build());
  PoolFacts facts{.shares = true};
  for (auto& gpu : machine.gpus) {
    facts.pcie_roots[gpu.pci] = "pci0000:10";
    facts.islands[gpu.uuid] = "island-0";
    if (gpu.index >= gpus) continue;
    gpu.mig_geometry = gpu::find_mig_model("h100-80gb")->geometry;
    facts.partitionable.insert(gpu.uuid);
  }
  facts.taints[test::gpu_uuid(0)] = {
      {.key = "gpu.nvidia.com/xid", .value = "79", .effect = "NoExecute"},
      {.key = "tranche.dev/held", .effect = "NoSchedule"}};
  return make_pool(machine, facts);
}

class SlicesContract : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override {
    for (const auto& slice : there()) {
      EXPECT_TRUE(objects_->remove(kResourceSlice, {"", slice.name}));
    }
  }

  std::vector<ResourceSlice> there() const {
    const auto list = objects_->list(
        kResourceSlice,
        {.field_selector = "spec.nodeName=" + names_.node + ",spec.driver=" + names_.driver});
    EXPECT_TRUE(list) << list.error().message();
    std::vector<ResourceSlice> slices;
    for (const auto& object : list.value_or(cluster::ObjectList()).items) {
      slices.push_back(cluster::parse_resource_slice(object.json).value());
    }
    return slices;
  }
  void write(const SliceWrite& one) {
    const cluster::ObjectKey key{"", one.slice.name};
    if (one.kind == SliceWrite::Kind::kDelete) {
      const auto gone =
          objects_->remove(kResourceSlice, key,
                           {.uid = one.slice.uid, .resource_version = one.slice.resource_version});
      ASSERT_TRUE(gone) << gone.error().message();
      return;
    }
    const auto text = to_json(one.slice);
    const auto answer = one.kind == SliceWrite::Kind::kCreate
                            ? objects_->create(kResourceSlice, "", text)
                            : objects_->update(kResourceSlice, key, text);
    ASSERT_TRUE(answer) << answer.error().message();
    const auto stored = cluster::parse_resource_slice(answer->json).value();
    EXPECT_FALSE(dropped_fields(one.slice, stored).any()) << one.slice.name;
    auto same = stored;
    same.uid = one.slice.uid;
    same.resource_version = one.slice.resource_version;
    for (auto& device : same.devices) {
      for (auto& taint : device.taints) taint.since.clear();
    }
    auto wrote = one.slice;
    for (auto& device : wrote.devices) {
      for (auto& taint : device.taints) taint.since.clear();
    }
    EXPECT_EQ(same, wrote) << one.slice.name;
  }
  // Writes until everything is written; returns the number of writes.
  std::size_t publish(const Pool& pool) {
    const auto writes = writes_for(there(), pool, names_, owner_);
    for (const auto& one : writes) write(one);
    EXPECT_THAT(writes_for(there(), pool, names_, owner_), IsEmpty());
    return writes.size();
  }

  const PoolNames names_{.driver = "gpu.nvidia.com", .node = "n-" + random_uuid().substr(0, 8)};
  const cluster::OwnerReference owner_{"v1", "Node", names_.node, random_uuid(), true};
  const std::unique_ptr<cluster::Objects> objects_ = objects_of(GetParam());
};

TEST_P(SlicesContract, AreTakenAsTheyAre) {
  EXPECT_EQ(publish(pool_of(8)), 6U);  // counters, GPUs, places of two GPUs each
  auto turned = pool_of(8);
  std::ranges::reverse(turned.gpus);
  EXPECT_EQ(publish(turned), 1U);
  EXPECT_EQ(publish(pool_of(2)), 6U);  // three are written, three go
  EXPECT_EQ(publish(pool_of(0)), 3U);
}

INSTANTIATE_TEST_SUITE_P(Servers, SlicesContract, testing::ValuesIn(servers()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace tranche::dra::slices_contract_test
