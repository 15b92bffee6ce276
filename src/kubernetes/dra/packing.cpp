#include "dra/packing.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tranche::dra {
namespace {

constexpr std::uint64_t kWhole = 1'000'000;  // millionths of a GPU

std::uint64_t capacity_of(const cluster::SliceDevice& device, const char* name) {
  const auto found = device.capacity.find(name);
  return found == device.capacity.end() ? 0 : found->second.value;
}

// In millionths, rounded down.
std::uint64_t part_of_whole(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0 || part >= whole) return kWhole;
  return static_cast<std::uint64_t>(static_cast<double>(part) / static_cast<double>(whole) *
                                    static_cast<double>(kWhole));
}

// The name of the device's GPU.
std::string gpu_of(const PreparedDevice& device) {
  return device.device.substr(0, device.place ? device.device.find("-mig-") : std::string::npos);
}

struct Use {
  bool whole = false;
  ConsumedPart parts;
};

std::map<std::string, Use> uses_of(const std::vector<PreparedClaim>& prepared) {
  std::map<std::string, Use> uses;
  for (const auto& claim : prepared) {
    for (const auto& device : claim.devices) {
      if (device.admin_access) continue;
      auto& use = uses[gpu_of(device)];
      if (!device.part) {
        use.whole = true;
        continue;
      }
      use.parts.memory.value += device.part->memory.value;
      use.parts.percent += device.part->percent;
    }
  }
  return uses;
}

// The free part of the scarcer of memory and compute; a GPU with nothing left ranks behind a free
// one.
std::uint64_t rank_of(const cluster::SliceDevice& device, const std::map<std::string, Use>& uses) {
  const auto found = uses.find(device.name);
  if (found == uses.end()) return kWhole;
  const auto& [whole, parts] = found->second;
  const auto used = whole
                        ? kWhole
                        : std::max(part_of_whole(parts.memory.value, capacity_of(device, "memory")),
                                   part_of_whole(parts.percent, capacity_of(device, "compute")));
  return used >= kWhole ? kWhole + 1 : kWhole - used;
}

}  // namespace

void put_fullest_first(Pool& pool, const std::vector<PreparedClaim>& prepared) {
  const auto uses = uses_of(prepared);
  std::ranges::stable_sort(
      pool.gpus, {}, [&](const cluster::SliceDevice& device) { return rank_of(device, uses); });
}

}  // namespace tranche::dra
