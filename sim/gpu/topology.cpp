#include "sim/gpu/topology.h"

#include <algorithm>

namespace tranche::sim {
namespace {

bool same(std::uint32_t a, std::uint32_t b) { return a == b && a != kNone; }

// A value of Link::remote: the link is down.
constexpr std::uint32_t kDown = 0x8000'0000;

std::uint32_t count_links(const Gpu& gpu, Remote remote, std::uint32_t index) {
  return static_cast<std::uint32_t>(std::ranges::count_if(gpu.links, [&](const Link& link) {
    return is_up(link) && remote_of(link) == remote && (index == kNone || link.index == index);
  }));
}

}  // namespace

std::uint32_t topology_level(const State& state, std::uint32_t a, std::uint32_t b) {
  const Gpu& one = state.gpus[a];
  const Gpu& other = state.gpus[b];
  if (a == b || same(one.board, other.board)) return 0;
  if (state.topology_all != kNone) return state.topology_all;
  if (same(one.pcie_switch, other.pcie_switch)) return 10;
  if (same(one.pcie_group, other.pcie_group)) return 20;
  if (same(one.host_bridge, other.host_bridge)) return 30;
  return one.numa == other.numa ? 40 : 50;
}

Remote remote_of(const Link& link) {
  return static_cast<Remote>(__atomic_load_n(&link.remote, __ATOMIC_RELAXED) & ~kDown);
}

bool is_up(const Link& link) {
  return (__atomic_load_n(&link.remote, __ATOMIC_RELAXED) & kDown) == 0;
}

void set_links_up(Gpu& gpu, bool up) {
  for (Link& link : gpu.links) {
    const auto remote = static_cast<std::uint32_t>(remote_of(link));
    if (remote == static_cast<std::uint32_t>(Remote::kNothing)) continue;
    __atomic_store_n(&link.remote, up ? remote : remote | kDown, __ATOMIC_RELAXED);
  }
}

std::uint32_t nvlinks_between(const State& state, std::uint32_t a, std::uint32_t b) {
  if (a == b) return 0;
  const std::uint32_t direct = count_links(state.gpus[a], Remote::kGpu, b);
  if (direct > 0) return direct;
  return std::min(count_links(state.gpus[a], Remote::kSwitch, kNone),
                  count_links(state.gpus[b], Remote::kSwitch, kNone));
}

}  // namespace tranche::sim
