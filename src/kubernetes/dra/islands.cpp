#include "dra/islands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tranche::dra {
namespace {

// Linked directly, or both to NVSwitches: those of one machine are connected.
bool are_joined(const gpu::Topology& links, std::size_t a, std::size_t b) {
  return links.at(a, b).nvlinks > 0 || (links.switch_links(a) > 0 && links.switch_links(b) > 0);
}

// For each row of the matrix, the first GPU of its island.
std::vector<std::size_t> first_of_each(const gpu::Topology& links) {
  std::vector<std::size_t> first(links.size());
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = i;
  for (std::size_t a = 0; a < first.size(); ++a) {
    for (std::size_t b = a + 1; b < first.size(); ++b) {
      if (!are_joined(links, a, b) || first[a] == first[b]) continue;
      const auto [low, high] = std::minmax(first[a], first[b]);
      std::ranges::replace(first, std::size_t{high}, std::size_t{low});
    }
  }
  return first;
}

}  // namespace

std::map<gpu::GpuUuid, std::string> islands_of(const gpu::Machine& machine,
                                               const offer::Links* links) {
  std::map<gpu::GpuUuid, std::string> islands;
  for (const auto& gpu : machine.gpus) {
    if (!gpu.fabric) continue;
    islands.emplace(gpu.uuid,
                    fmt::format("{}.{}", gpu.fabric->cluster_uuid, gpu.fabric->clique_id));
  }
  if (links == nullptr || links->gpu_uuids.size() != links->topology.size()) return islands;
  const auto first = first_of_each(links->topology);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (std::ranges::count(first, first[i]) < 2) continue;
    const gpu::GpuUuid uuid{links->gpu_uuids[i]};
    const auto* head = gpu::find_gpu(machine, {links->gpu_uuids[first[i]]});
    if (head == nullptr) continue;
    islands.emplace(uuid, fmt::format("island-{}", head->index));
  }
  return islands;
}

}  // namespace tranche::dra
