// A cluster full of names, and none of them in what is sent.

#include "cluster/snapshot/anonymize.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cluster/formats/limit_settings.h"
#include "cluster/formats/mig_change.h"
#include "cluster/snapshot/encoding.h"
#include "cluster/snapshot/testing.h"

namespace tranche::cluster::anonymize_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Anonymize, NoNameOfTheClusterIsLeft) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const auto snapshot = NamedCluster(seed).make();
    ASSERT_THAT(encode(snapshot), HasSubstr(kNameMark));
    const auto text = encode(anonymize(snapshot, seed));
    ASSERT_THAT(text, Not(HasSubstr(kNameMark))) << "seed " << seed;
    ASSERT_THAT(text, Not(HasSubstr("0b51bcc7"))) << "a UUID, seed " << seed;
    ASSERT_THAT(text, Not(HasSubstr("example.com:6443"))) << "seed " << seed;
  }
}

TEST(Anonymize, WhatItWritesIsRead) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto anonymous = anonymize(NamedCluster(seed).make(), seed);
    const auto read = decode(encode(anonymous));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, anonymous) << "seed " << seed;
  }
}

// Fields before and after, of the objects with the same resource version.
class Pairs {
 public:
  void add(const std::string& before, const std::string& after) {
    if (before.empty() && after.empty()) return;
    const auto there = forward_.emplace(before, after).first->second;
    const auto back = backward_.emplace(after, before).first->second;
    if (there != after || back != before) wrong_ = fmt::format("{} -> {}", before, after);
  }
  const std::string& wrong() const { return wrong_; }
  std::size_t size() const { return forward_.size(); }

 private:
  std::map<std::string, std::string> forward_;
  std::map<std::string, std::string> backward_;
  std::string wrong_;
};

template <class T, class VersionOf>
const T& twin_of(const T& one, const std::vector<T>& others, const VersionOf& version_of) {
  return *std::ranges::find_if(
      others, [&](const T& other) { return version_of(other) == version_of(one); });
}

void pair_nodes(const Snapshot& before, const Snapshot& after, Pairs& pairs) {
  for (const auto& one : before.nodes) {
    const auto& other =
        twin_of(one, after.nodes, [](const auto& node) { return node.node.resource_version; });
    pairs.add(one.node.name, other.node.name);
    pairs.add(one.node.uid, other.node.uid);
    pairs.add(value_of(one.node.labels, "kubernetes.io/hostname"),
              value_of(other.node.labels, "kubernetes.io/hostname"));
    const auto limits =
        decode_limit_settings(value_of(one.node.annotations, kLimitSettingsAnnotation));
    const auto renamed =
        decode_limit_settings(value_of(other.node.annotations, kLimitSettingsAnnotation));
    ASSERT_TRUE(limits && renamed);
    pairs.add(limits->at(0).ns, renamed->at(0).ns);
    pairs.add(limits->at(0).pod, renamed->at(0).pod);
    pairs.add(limits->at(0).uid, renamed->at(0).uid);
    pairs.add(limits->at(0).container, renamed->at(0).container);
    const auto change = decode_mig_change(value_of(other.node.annotations, kMigChangeAnnotation));
    ASSERT_TRUE(change) << change.error().message();
  }
}

void pair_pods(const Snapshot& before, const Snapshot& after, Pairs& pairs) {
  for (const auto& one : before.pods) {
    const auto& other =
        twin_of(one, after.pods, [](const auto& pod) { return pod.pod.resource_version; });
    pairs.add(one.pod.ns, other.pod.ns);
    pairs.add(one.pod.name, other.pod.name);
    pairs.add(one.pod.node, other.pod.node);
    pairs.add(one.pod.containers[0].name, other.pod.containers[0].name);
    pairs.add(one.pod.claims[0].name, other.pod.claims[0].name);
    pairs.add(one.pod.owners[0].uid, other.pod.owners[0].uid);
    pairs.add(one.tolerations[0].key, other.tolerations[0].key);
    EXPECT_EQ(one.pod.containers[0].requests, other.pod.containers[0].requests);
  }
}

void pair_claims(const Snapshot& before, const Snapshot& after, Pairs& pairs) {
  for (const auto& one : before.claims) {
    const auto& other =
        twin_of(one, after.claims, [](const auto& claim) { return claim.claim.resource_version; });
    pairs.add(one.claim.key.ns, other.claim.key.ns);
    pairs.add(one.claim.key.name, other.claim.key.name);
    pairs.add(one.claim.devices[0].pool, other.claim.devices[0].pool);
    pairs.add(one.claim.devices[0].device, other.claim.devices[0].device);
    pairs.add(one.claim.reserved_for[0].name, other.claim.reserved_for[0].name);
  }
}

void pair_gpus(const Snapshot& before, const Snapshot& after, Pairs& pairs) {
  for (const auto& one : before.gpu_nodes) {
    const auto& other =
        twin_of(one, after.gpu_nodes, [](const auto& node) { return node.resource_version; });
    pairs.add(one.name, other.name);
    pairs.add(one.status->gpus[0].uuid, other.status->gpus[0].uuid);
    const auto& held = one.status->holdings[0];
    const auto& renamed = other.status->holdings[0];
    pairs.add(held.device, renamed.device);
    pairs.add(held.id, renamed.id);
    pairs.add(held.id.substr(0, held.id.find("::")), renamed.id.substr(0, renamed.id.find("::")));
    pairs.add(held.pod, renamed.pod);
    pairs.add(held.pod_uid, renamed.pod_uid);
    EXPECT_EQ(one.status->gpus[0].model, other.status->gpus[0].model);
    EXPECT_EQ(one.status->gpus[0].pci, other.status->gpus[0].pci);
  }
}

TEST(Anonymize, WhatWasEqualStaysEqualAndWhatWasNotDoesNotBecomeSo) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto before = NamedCluster(seed).make();
    const auto after = anonymize(before, seed);
    Pairs pairs;
    pair_nodes(before, after, pairs);
    pair_pods(before, after, pairs);
    pair_claims(before, after, pairs);
    pair_gpus(before, after, pairs);
    ASSERT_EQ(pairs.wrong(), "") << "seed " << seed;
    ASSERT_GT(pairs.size(), 20U);
  }
}

TEST(Anonymize, ConfigurationsKeepWhatTheySayWithoutComments) {
  Snapshot snapshot;
  snapshot.config_maps = {
      {.key = {"gpu", "configs"},
       .data = {
           {"training",
            "# by Ann\nversion: v1\nsharing:\n  timeSlicing:\n    resources:\n"
            "    - {name: nvidia.com/gpu, replicas: 4}\n"},
           {"layouts",
            "version: v1\nmig-configs:\n  all-1g.10gb:\n  - {devices: all, mig-enabled: true,\n"
            "     mig-devices: {1g.10gb: 7}}\n  anns:\n  - {devices: [0], mig-enabled: false}\n"},
           {"pools", "pools:\n- {name: gpu-anns, layout: gpu-of-ann}\n"},
           {"torn", "{"}}}};
  const auto after = anonymize(snapshot, 1);
  const auto& data = after.config_maps.at(0).data;
  std::string all;
  for (const auto& [key, text] : data) all += text;
  EXPECT_THAT(all, HasSubstr("name: nvidia.com/gpu"));
  EXPECT_THAT(all, HasSubstr("replicas: 4"));
  EXPECT_THAT(all, HasSubstr("all-1g.10gb"));
  EXPECT_THAT(all, HasSubstr("\"1g.10gb\": 7"));
  EXPECT_THAT(all, HasSubstr("# left out"));
  EXPECT_THAT(all, HasSubstr("pools:\n- name: config-"));
  EXPECT_THAT(all, Not(HasSubstr("Ann")));
  EXPECT_THAT(all, Not(HasSubstr("ann")));
}

TEST(Anonymize, WhatManifestsReferToStays) {
  Snapshot snapshot;
  snapshot.nodes = {{.node = {.name = "n",
                              .labels = {{"nvidia.com/gpu.product", "NVIDIA-L20"},
                                         {"nvidia.com/mig.config", "all-balanced"},
                                         {"topology.kubernetes.io/zone", "berlin"}},
                              .allocatable = {{"acme.com/gpu", "4"}}},
                     .configuration = std::nullopt}};
  snapshot.device_classes = {{.name = "gpu-large", .extended_resource = "acme.com/gpu"}};
  const auto after = anonymize(snapshot, 1);
  const auto& node = after.nodes.at(0).node;
  EXPECT_EQ(node.labels.at("nvidia.com/gpu.product"), "NVIDIA-L20");
  EXPECT_EQ(node.labels.at("nvidia.com/mig.config"), "all-balanced");
  EXPECT_EQ(node.labels.at("topology.kubernetes.io/zone"), "value-1");
  EXPECT_EQ(node.allocatable.at("acme.com/gpu"), "4");
  EXPECT_EQ(after.device_classes, snapshot.device_classes);
}

}  // namespace
}  // namespace tranche::cluster::anonymize_test
