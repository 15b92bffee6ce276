#include "cluster/snapshot/anonymous_text.h"

#include <gtest/gtest.h>

namespace tranche::cluster::anonymous_text_test {
namespace {

Aliases learned() {
  Aliases aliases(7);
  aliases.learn(NameKind::kNodeName, "gpu-a.example.com");
  aliases.learn(NameKind::kNamespaceName, "team");
  aliases.learn(NameKind::kPodName, "train");
  aliases.learn(NameKind::kConfigMapName, "configs");
  aliases.learn(NameKind::kGpuUuid, "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c");
  aliases.learn_word("NVIDIA");
  aliases.learn_word("A100-SXM4-80GB");
  aliases.learn_word("memory");
  aliases.learn_word("productName");
  aliases.number();
  return aliases;
}

TEST(AnonymousText, NamesGoAndWordsStay) {
  const struct {
    const char* name;
    const char* text;
    const char* anonymous;
  } cases[] = {
      {"plain words", "no GPU is free, and none comes", "no GPU is free, and none comes"},
      {"a learned name", "team/train runs on gpu-a.example.com.", "ns-1/pod-1 runs on node-1."},
      {"inside a longer one", "ConfigMap team/configs, key a-b",
       "ConfigMap ns-1/config-map-1, key name-1"},
      {"a tranche", "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c::3 is held",
       "GPU-00000000-0000-4000-8000-000000000001::3 is held"},
      {"a strange UUID", "MIG-3eb87630-93d5-b2b6-b8ff-9b359caf4ee2",
       "MIG-00000000-0000-4000-8000-000000000001"},
      {"a scheduler's", "0/3 nodes are available: 1 Insufficient nvidia.com/gpu.",
       "0/3 nodes are available: 1 Insufficient nvidia.com/gpu."},
      {"in quotes", "persistentvolumeclaim \"data\" not found",
       "persistentvolumeclaim \"name-1\" not found"},
      {"quoted words of hardware", "device.productName == 'NVIDIA A100-SXM4-80GB'",
       "device.productName == 'NVIDIA A100-SXM4-80GB'"},
      {"an address", "dial tcp 10.1.2.3:6443: refused", "dial tcp name-1:6443: refused"},
      {"an address of version 6", "[fe80::1ab2]:80", "[name-1::name-2]:80"},
      {"a host", "https://host.acme.com/x", "https://name-1/name-2"},
      {"a version", "driver 570.158.01", "driver 570.158.01"},
      {"amounts", "of 4Gi, 25% in 4m58s", "of 4Gi, 25% in 4m58s"},
      {"a time", "since 17:22:27Z, 2026-01-31T12:00:00Z", "since 17:22:27Z, 2026-01-31T12:00:00Z"},
      {"hardware", "0000:3b:00.0 has 1g.10gb+me, gpu-0-mig-1g10gb-19-3",
       "0000:3b:00.0 has 1g.10gb+me, gpu-0-mig-1g10gb-19-3"},
      {"an expression",
       "device.attributes['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0",
       "device.attributes['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"},
      {"no expression", "device.acme.corp, .acme", "name-1, name-2"},
      {"a label", "label kubernetes.io/hostname=gpu-a.example.com",
       "label kubernetes.io/hostname=node-1"},
      {"the same unknown twice", "vol-1 and vol-2 and vol-1", "name-1 and name-2 and name-1"},
      {"no ASCII", "m\xc3\xbcller-pc", "name-1"},
      {"nothing", "", ""},
      {"signs alone", "...: -- /", "...: -- /"},
  };
  for (const auto& one : cases) {
    auto aliases = learned();
    EXPECT_EQ(anonymous_text(one.text, aliases), one.anonymous) << one.name;
  }
}

// Somebody may choose the text.
TEST(AnonymousText, ManyPartsAreNoRecursion) {
  auto aliases = learned();
  const std::string slashes(1'000'000, '/');
  EXPECT_EQ(anonymous_text("a1" + slashes + "b2", aliases), "name-1" + slashes + "name-2");
}

TEST(AnonymousText, AnAliasIsNoNameOfTheCluster) {
  Aliases aliases(1);
  for (const auto* name : {"node-1", "node-2", "gpu-a"}) aliases.learn(NameKind::kNodeName, name);
  aliases.number();
  std::set<std::string> given;
  for (const auto* name : {"node-1", "node-2", "gpu-a"}) {
    given.insert(aliases.alias_of(NameKind::kNodeName, name));
  }
  EXPECT_EQ(given, (std::set<std::string>{"node-3", "node-4", "node-5"}));
}

TEST(AnonymousText, TheOrderOfNumbersIsNotThatOfNames) {
  std::set<std::string> of_the_first;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    Aliases aliases(seed);
    for (const auto* name : {"a", "b", "c"}) aliases.learn(NameKind::kPodName, name);
    aliases.number();
    of_the_first.insert(aliases.alias_of(NameKind::kPodName, "a"));
  }
  EXPECT_EQ(of_the_first.size(), 3U);
}

}  // namespace
}  // namespace tranche::cluster::anonymous_text_test
