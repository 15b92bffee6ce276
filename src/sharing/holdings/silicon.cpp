#include "holdings/silicon.h"

#include "holdings/holding.h"

namespace tranche::holdings {
namespace {

std::vector<Holding> devices_of(const gpu::Gpu& gpu) {
  std::vector<Holding> devices{{.device = gpu.uuid.value, .gpu = gpu.uuid.value}};
  for (const auto& instance : gpu.mig_instances) {
    devices.push_back({.device = instance.uuid.value, .gpu = gpu.uuid.value});
  }
  return devices;
}

}  // namespace

Silicon::Silicon(const gpu::Machine& machine) {
  for (const auto& gpu : machine.gpus) {
    const auto devices = devices_of(gpu);
    for (const auto& one : devices) {
      auto& place = places_.insert_or_assign(one.device, Place{one.gpu}).first->second;
      for (const auto& other : devices) {
        if (other.device != one.device && overlap(one, other))
          place.overlapping.push_back(other.device);
      }
    }
  }
}

const Silicon::Place* Silicon::find(std::string_view device) const {
  const auto found = places_.find(std::string(device));
  return found == places_.end() ? nullptr : &found->second;
}

std::string Silicon::gpu_of(std::string_view device) const {
  const auto* place = find(device);
  return place == nullptr ? std::string() : place->gpu;
}

const std::vector<std::string>& Silicon::overlapping(std::string_view device) const {
  static const std::vector<std::string> nothing;
  const auto* place = find(device);
  return place == nullptr ? nothing : place->overlapping;
}

std::set<std::string> Silicon::of(std::string_view device) const {
  const auto& others = overlapping(device);
  std::set<std::string> all(others.begin(), others.end());
  all.emplace(device);
  return all;
}

}  // namespace tranche::holdings
