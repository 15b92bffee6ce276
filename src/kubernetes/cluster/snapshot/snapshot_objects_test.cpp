// A snapshot behind the port: the same objects, the old failures, and nothing that was not kept.

#include "cluster/snapshot/snapshot_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/client/list_of.h"
#include "cluster/snapshot/parts.h"

namespace tranche::cluster::snapshot_objects_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Snapshot small() {
  Snapshot snapshot;
  snapshot.nodes = {{.node = {.name = "n1"}, .configuration = std::nullopt},
                    {.node = {.name = "n2"}, .configuration = std::nullopt}};
  SnapshotPod first{.pod = {.ns = "a", .name = "p", .node = "n1"}};
  SnapshotPod second{.pod = {.ns = "b", .name = "p", .node = "n2"}};
  SnapshotPod waiting{.pod = {.ns = "b", .name = "q", .phase = "Failed"}};
  snapshot.pods = {first, second, waiting};
  snapshot.config_maps = {{.key = {"gpu", "configs"}, .data = {{"a", "version: v1"}}}};
  snapshot.gpu_nodes = {{.name = "n1", .status = GpuNodeStatus()}};
  return snapshot;
}

Result<std::vector<std::string>> keys_of(Objects& objects, const Kind& kind,
                                         const ListOptions& options = {}) {
  ASSIGN_OR_RETURN(const auto list, objects.list(kind, options));
  std::vector<std::string> keys;
  for (const auto& item : list.items) keys.push_back(item.key.to_string());
  return keys;
}

TEST(SnapshotObjects, GivesTheObjectsThatReadersExpect) {
  SnapshotObjects objects(small());
  const auto nodes = list_of(objects, kNode, {}, parse_node);
  ASSERT_TRUE(nodes) << nodes.error().what;
  EXPECT_EQ(nodes->at(1), small().nodes[1].node);
  const auto pod = objects.get(kPod, {"b", "p"});
  ASSERT_TRUE(pod) << pod.error().what;
  EXPECT_THAT(pod->json, HasSubstr(R"("kind":"Pod")"));
  EXPECT_EQ(parse_snapshot_pod(pod->json), small().pods[1]);
  const auto map = objects.get(kConfigMap, {"gpu", "configs"});
  ASSERT_TRUE(map) << map.error().what;
  EXPECT_EQ(parse_config_map(map->json), small().config_maps[0]);
  const auto gpus = objects.get(kGpuNode, {"", "n1"});
  ASSERT_TRUE(gpus) << gpus.error().what;
  EXPECT_EQ(parse_gpu_node(gpus->json), small().gpu_nodes[0]);
}

TEST(SnapshotObjects, SelectsByNamespaceAndField) {
  SnapshotObjects objects(small());
  const struct {
    const char* name;
    ListOptions options;
    std::vector<std::string> keys;
  } cases[] = {
      {"all", {}, {"a/p", "b/p", "b/q"}},
      {"namespace", {.ns = "b"}, {"b/p", "b/q"}},
      {"node", {.field_selector = "spec.nodeName=n1"}, {"a/p"}},
      {"no node", {.field_selector = "spec.nodeName="}, {"b/q"}},
      {"two fields", {.field_selector = "metadata.name==p,metadata.namespace=b"}, {"b/p"}},
      {"others", {.field_selector = "metadata.name!=p"}, {"b/q"}},
      {"not ended",
       {.field_selector = "status.phase!=Succeeded,status.phase!=Failed"},
       {"a/p", "b/p"}},
      {"none", {.ns = "c"}, {}},
  };
  for (const auto& one : cases) {
    const auto keys = keys_of(objects, kPod, one.options);
    ASSERT_TRUE(keys) << one.name << ": " << keys.error().what;
    EXPECT_EQ(*keys, one.keys) << one.name;
  }
}

TEST(SnapshotObjects, WhatItCannotSelectByIsRefused) {
  SnapshotObjects objects(small());
  for (const ListOptions& options :
       {ListOptions{.label_selector = "a=b"}, ListOptions{.field_selector = "spec.schedulerName=x"},
        ListOptions{.field_selector = "=p"}, ListOptions{.field_selector = "nonsense"}}) {
    const auto list = objects.list(kPod, options);
    ASSERT_FALSE(list) << options.label_selector << options.field_selector;
    EXPECT_EQ(list.error().code, Code::kUnsupported);
  }
}

TEST(SnapshotObjects, WhatCouldNotBeReadFailsAsItDid) {
  auto snapshot = small();
  snapshot.slices.clear();
  snapshot.gaps = {{"resourceslices.resource.k8s.io", "", Code::kPermission, "forbidden"},
                   {"deviceclasses.resource.k8s.io", "", Code::kNotFound, "not served"},
                   {"pods", "b/broken", Code::kInvalidArgument, "spec is a number"}};
  SnapshotObjects objects(snapshot);
  const auto slices = objects.list(kResourceSlice, {});
  ASSERT_FALSE(slices);
  EXPECT_EQ(slices.error().code, Code::kPermission);
  EXPECT_THAT(slices.error().what, HasSubstr("forbidden"));
  EXPECT_EQ(objects.list(kDeviceClass, {}).error().code, Code::kNotFound);
  const auto pods = objects.list(kPod, {});
  ASSERT_FALSE(pods) << "one is missing, which no list may hide";
  EXPECT_THAT(pods.error().what, HasSubstr("pods b/broken: spec is a number"));
  EXPECT_TRUE(objects.get(kPod, {"a", "p"}));
  EXPECT_EQ(objects.get(kPod, {"b", "broken"}).error().code, Code::kInvalidArgument);
}

TEST(SnapshotObjects, WhatIsNotKeptIsNotTakenForNothing) {
  SnapshotObjects objects(small());
  EXPECT_EQ(objects.list(kEvent, {}).error().code, Code::kUnsupported);
  EXPECT_EQ(objects.get(kSecret, {"a", "s"}).error().code, Code::kUnsupported);
  EXPECT_EQ(objects.list(kConfigMap, {}).error().code, Code::kUnsupported);
  EXPECT_EQ(objects.get(kPod, {"a", "none"}).error().code, Code::kNotFound);
  const auto tiers = keys_of(objects, kGpuTier);
  ASSERT_TRUE(tiers) << tiers.error().what;
  EXPECT_THAT(*tiers, IsEmpty()) << "the cluster has none";
}

TEST(SnapshotObjects, GpusOfAnEarlyFileAreThereAndOthersAreUnknown) {
  auto snapshot = small();
  snapshot.gaps = {{"gpunodes.tranche.dev", "", Code::kUnsupported, "not in this file"}};
  SnapshotObjects with(snapshot);
  EXPECT_TRUE(with.get(kGpuNode, {"", "n1"}));
  snapshot.gpu_nodes.clear();
  SnapshotObjects without(snapshot);
  EXPECT_EQ(without.list(kGpuNode, {}).error().code, Code::kUnsupported);
}

TEST(SnapshotObjects, IsOnlyRead) {
  SnapshotObjects objects(small());
  const ObjectKey key{"a", "p"};
  const Code codes[] = {
      objects.create(kPod, "a", "{}").error().code,
      objects.update(kPod, key, "{}").error().code,
      objects.patch(kPod, key, {}).error().code,
      objects.apply(kPod, key, {}).error().code,
      objects.remove(kPod, key).error().code,
      objects.evict(key, "").error().code,
      objects.watch(kPod, {}, [](const WatchEvent&) {}, {}).error().code,
  };
  EXPECT_THAT(codes, testing::Each(Code::kUnsupported));
  EXPECT_TRUE(objects.get(kPod, key));
}

}  // namespace
}  // namespace tranche::cluster::snapshot_objects_test
