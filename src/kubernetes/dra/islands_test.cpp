#include "dra/islands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/machines.h"

namespace tranche::dra::islands_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

gpu::Machine machine_of(int gpus) { return test::machine_of(gpus, test::l20); }

offer::Links unlinked(const gpu::Machine& machine) {
  offer::Links links{.topology = gpu::Topology(machine.gpus.size())};
  for (const auto& gpu : machine.gpus) links.gpu_uuids.push_back(gpu.uuid.value);
  return links;
}

// In the machine's order; "": none.
std::vector<std::string> islands(const gpu::Machine& machine, const offer::Links* links) {
  const auto found = islands_of(machine, links);
  std::vector<std::string> all;
  for (const auto& gpu : machine.gpus) {
    const auto one = found.find(gpu.uuid);
    all.push_back(one == found.end() ? "" : one->second);
  }
  return all;
}

TEST(Islands, LinkedDirectlyOrThroughOthers) {
  const auto machine = machine_of(5);
  auto links = unlinked(machine);
  links.topology.set(1, 2, {.nvlinks = 2});
  links.topology.set(2, 4, {.nvlinks = 1});
  EXPECT_THAT(islands(machine, &links), ElementsAre("", "island-1", "island-1", "", "island-1"));
}

TEST(Islands, AnNvSwitchJoinsAllThatHaveALinkToIt) {
  const auto machine = machine_of(4);
  auto links = unlinked(machine);
  for (const std::size_t gpu : {0, 2, 3}) links.topology.set_switch_links(gpu, 12);
  EXPECT_THAT(islands(machine, &links), ElementsAre("island-0", "", "island-0", "island-0"))
      << "the links of GPU 1 are down";
}

TEST(Islands, LinksToAnUnsharedSwitchJoinNobody) {
  const auto machine = machine_of(2);
  auto links = unlinked(machine);
  links.topology.set_switch_links(1, 12);
  EXPECT_THAT(islands(machine, &links), ElementsAre("", ""));
}

TEST(Islands, AFabricTakesPrecedence) {
  auto machine = machine_of(2);
  for (auto& gpu : machine.gpus) gpu.fabric = gpu::Fabric{.cluster_uuid = "c", .clique_id = 7};
  auto links = unlinked(machine);
  for (const std::size_t gpu : {0, 1}) links.topology.set_switch_links(gpu, 18);
  EXPECT_THAT(islands(machine, &links), ElementsAre("c.7", "c.7"));
  EXPECT_THAT(islands(machine, nullptr), ElementsAre("c.7", "c.7"));
}

TEST(Islands, NoneIsKnownBeforeTheLinks) {
  EXPECT_THAT(islands_of(machine_of(2), nullptr), IsEmpty());
}

}  // namespace
}  // namespace tranche::dra::islands_test
