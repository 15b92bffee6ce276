#include "dra/publication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "dra/names.h"
#include "gpu/mig_tables.h"
#include "support/machines.h"

namespace tranche::dra::publication_test {
namespace {

using cluster::ResourceSlice;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = SliceWrite::Kind;

const PoolNames kNames{.driver = "gpu.nvidia.com", .node = "n1"};
const cluster::OwnerReference kNode{"v1", "Node", "n1", "node-uid", true};

Pool pool_of(int gpus, bool cut = false) {
  auto machine = test::machine_of(gpus, test::h100);
  PoolFacts facts{.shares = true};
  for (auto& gpu : machine.gpus) {
    gpu.mig_geometry = gpu::find_mig_model("h100-80gb")->geometry;
    if (cut) facts.partitionable.insert(gpu.uuid);
  }
  return make_pool(machine, facts);
}

// Changes slices as the API server would.
class Server {
 public:
  void apply(const std::vector<SliceWrite>& writes) {
    for (const auto& [kind, slice] : writes) {
      if (kind == Kind::kDelete) {
        slices_.erase(slice.name);
        continue;
      }
      auto stored = slice;
      if (kind == Kind::kCreate) stored.uid = "uid-" + std::to_string(++uids_);
      stored.resource_version = std::to_string(++version_);
      for (auto& device : stored.devices) {
        for (auto& taint : device.taints) {
          if (taint.since.empty()) taint.since = "2026-11-23T10:00:00Z";
        }
      }
      slices_[slice.name] = std::move(stored);
    }
  }
  std::vector<ResourceSlice> slices() const {
    std::vector<ResourceSlice> all;
    for (const auto& [name, slice] : slices_) all.push_back(slice);
    return all;
  }

 private:
  std::map<std::string, ResourceSlice> slices_;
  int uids_ = 0;
  int version_ = 0;
};

std::vector<Kind> kinds(const std::vector<SliceWrite>& writes) {
  std::vector<Kind> all;
  for (const auto& write : writes) all.push_back(write.kind);
  return all;
}

TEST(Publication, UnchangedSlicesAreNotWritten) {
  Server server;
  const auto first = writes_for({}, pool_of(2), kNames, kNode);
  EXPECT_THAT(kinds(first), ElementsAre(Kind::kCreate));
  EXPECT_EQ(first[0].slice.pool, (cluster::ResourcePool{"gpu-n1", 1, 1}));
  EXPECT_THAT(first[0].slice.owners, ElementsAre(kNode));
  server.apply(first);
  EXPECT_THAT(writes_for(server.slices(), pool_of(2), kNames, kNode), IsEmpty());
}

// In the same generation, so the pool is never incomplete.
TEST(Publication, AnotherOrderOrContentIsOneWrite) {
  Server server;
  server.apply(writes_for({}, pool_of(8, true), kNames, kNode));
  auto turned = pool_of(8, true);
  std::ranges::reverse(turned.gpus);
  const auto writes = writes_for(server.slices(), turned, kNames, kNode);
  ASSERT_THAT(kinds(writes), ElementsAre(Kind::kUpdate));
  EXPECT_EQ(writes[0].slice.pool.generation, 1);
  EXPECT_EQ(writes[0].slice.devices.front().name, "gpu-7");
  EXPECT_FALSE(writes[0].slice.resource_version.empty())
      << "who wrote in between is not overwritten";
}

TEST(Publication, AnotherNumberOfSlicesIsANewGeneration) {
  Server server;
  server.apply(writes_for({}, pool_of(8, true), kNames, kNode));
  ASSERT_THAT(server.slices(), SizeIs(6));
  const auto fewer = writes_for(server.slices(), pool_of(8), kNames, kNode);
  EXPECT_THAT(kinds(fewer), ElementsAre(Kind::kUpdate, Kind::kDelete, Kind::kDelete, Kind::kDelete,
                                        Kind::kDelete, Kind::kDelete));
  EXPECT_EQ(fewer[0].slice.pool, (cluster::ResourcePool{"gpu-n1", 2, 1}));
  server.apply(fewer);
  const auto more = writes_for(server.slices(), pool_of(8, true), kNames, kNode);
  EXPECT_THAT(more, SizeIs(6));
  for (const auto& write : more)
    EXPECT_EQ(write.slice.pool, (cluster::ResourcePool{"gpu-n1", 3, 6}));
}

// Kubelet removes all slices of the node when it starts; someone may remove one.
TEST(Publication, MissingSlicesAreRecreated) {
  Server server;
  server.apply(writes_for({}, pool_of(8, true), kNames, kNode));
  auto left = server.slices();
  left.erase(left.begin() + 2);
  const auto writes = writes_for(left, pool_of(8, true), kNames, kNode);
  EXPECT_THAT(writes, SizeIs(6));
  for (const auto& write : writes) EXPECT_EQ(write.slice.pool.generation, 2);
  EXPECT_THAT(kinds(writes_for({}, pool_of(8, true), kNames, kNode)),
              ::testing::Each(Kind::kCreate));
}

TEST(Publication, SlicesOfAnotherPoolAreDeleted) {
  Server server;
  server.apply(writes_for({}, pool_of(1), kNames, kNode));
  auto there = server.slices();
  auto old = there[0];
  old.name = "old";
  old.pool = {.name = "n1", .generation = 9, .slices = 1};
  there.push_back(old);
  const auto writes = writes_for(there, pool_of(1), kNames, kNode);
  ASSERT_THAT(kinds(writes), ElementsAre(Kind::kUpdate, Kind::kDelete));
  EXPECT_EQ(writes[1].slice.name, "old");
}

// A taint's time is that of its first write; later writes keep it.
TEST(Publication, ATaintKeepsItsTime) {
  Server server;
  auto ill = pool_of(2);
  ill.gpus[0].taints = {{.key = "gpu.nvidia.com/xid", .value = "79", .effect = "NoSchedule"}};
  server.apply(writes_for({}, ill, kNames, kNode));
  EXPECT_THAT(writes_for(server.slices(), ill, kNames, kNode), IsEmpty());
  std::ranges::reverse(ill.gpus);
  const auto writes = writes_for(server.slices(), ill, kNames, kNode);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].slice.devices[1].taints[0].since, "2026-11-23T10:00:00Z");
  ill.gpus[1].taints[0].effect = "NoExecute";
  const auto worse = writes_for(server.slices(), ill, kNames, kNode);
  EXPECT_EQ(worse[0].slice.devices[1].taints[0].since, "");
}

TEST(Publication, DetectsDisabledGates) {
  auto pool = pool_of(2, true);
  pool.gpus[0].taints = {{.key = "k", .effect = "NoSchedule"}};
  const auto slices = make_slices(pool, kNames, 1);
  const auto& gpus = slices[1];
  EXPECT_FALSE(dropped_fields(gpus, gpus).any());
  auto timed = gpus;
  timed.devices[0].taints[0].since = "2026-11-23T10:00:00Z";
  EXPECT_FALSE(dropped_fields(gpus, timed).any()) << "the server sets a taint's time";

  auto answer = gpus;
  for (auto& device : answer.devices) {
    device.shareable = false;
    for (auto& [name, capacity] : device.capacity) capacity.policy.reset();
  }
  EXPECT_EQ(dropped_fields(gpus, answer), (Dropped{.shares = true}));
  answer = gpus;
  for (auto& device : answer.devices) device.consumes.clear();
  EXPECT_EQ(dropped_fields(gpus, answer), (Dropped{.counters = true}));
  answer = gpus;
  answer.devices[0].taints.clear();
  EXPECT_EQ(dropped_fields(gpus, answer), (Dropped{.taints = true}));
  auto counters = slices[0];
  counters.counters.clear();
  EXPECT_EQ(dropped_fields(slices[0], counters), (Dropped{.counters = true}));
}

TEST(DroppedFields, AreDescribedWithTheirGates) {
  EXPECT_EQ(describe(Dropped()), "");
  const auto text = describe(Dropped{.shares = true, .taints = true});
  EXPECT_THAT(text, HasSubstr("do without shares of GPUs (DRAConsumableCapacity), taints (DRA"));
  EXPECT_THAT(text, EndsWith("then restart the agents"));
  EXPECT_NE(describe({.health = true}).find("ResourceHealthStatus, off at this node's kubelet"),
            std::string::npos);
  const auto all = describe({.shares = true, .counters = true, .taints = true, .names = true});
  EXPECT_THAT(all, HasSubstr("(DRAPartitionableDevices)"));
  EXPECT_THAT(all, HasSubstr("(DRAExtendedResource)"));
  EXPECT_THAT(all, EndsWith("apply the DeviceClasses again (helm upgrade) and restart the agents"));
  EXPECT_LT(all.size(), 1024U) << "an Event's note";
}

// A slice's pool cannot be changed.
TEST(Publication, ASliceOfAPoolWithAnotherNameMakesRoom) {
  Server server;
  server.apply(writes_for({}, pool_of(2), kNames, kNode));
  auto there = server.slices();
  there.at(0).pool.name = "gpu-n1/former";
  const auto writes = writes_for(there, pool_of(2), kNames, kNode);
  EXPECT_THAT(kinds(writes), ElementsAre(Kind::kDelete, Kind::kCreate));
  EXPECT_EQ(writes[0].slice.pool.name, "gpu-n1/former");
  EXPECT_EQ(writes[1].slice.pool.name, "gpu-n1");
  EXPECT_EQ(writes[1].slice.name, writes[0].slice.name);
}

TEST(Publication, APoolIsNamedForItsDriverUnlessThatHasItsDefaultName) {
  EXPECT_EQ(pool_name("n1", "gpu.nvidia.com"), "gpu-n1");
  EXPECT_EQ(pool_name("n1", "gpu.example.com"), "gpu-n1/gpu.example.com");
  const auto of_long = pool_name(std::string(240, 'n'), "gpu.example.com");
  EXPECT_LE(of_long.size(), 253U);
  EXPECT_NE(of_long, pool_name(std::string(241, 'n'), "gpu.example.com"));
}

}  // namespace
}  // namespace tranche::dra::publication_test
