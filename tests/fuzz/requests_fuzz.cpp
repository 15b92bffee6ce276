// Device plugin requests as bytes off the wire: parsed, answered, and the answer's invariants
// checked. The first byte chooses the message; the rest is the message.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "deviceplugin/resource.h"
#include "deviceplugin/wire.h"

namespace {

using tranche::deviceplugin::Resource;
using tranche::deviceplugin::ResourceState;

ResourceState shared_by_two() {
  ResourceState state;
  state.offer.name = state.offer.base = {"nvidia.com/gpu"};
  state.offer.endpoint = "nvidia-gpu.sock";
  state.offer.sharing = tranche::config::SharingStrategy::kTimeSlicing;
  state.offer.replicas = 2;
  for (std::size_t device = 0; device < 2; ++device) {
    const auto uuid = device == 0 ? std::string("GPU-a") : std::string("GPU-b");
    state.offer.devices.push_back({.uuid = uuid,
                                   .index = std::to_string(device),
                                   .gpu_index = static_cast<int>(device),
                                   .gpu_uuid = uuid,
                                   .paths = {"/dev/nvidia" + std::to_string(device)}});
    for (int replica = 0; replica < 2; ++replica) {
      state.offer.tranches.push_back({tranche::offer::replica_id(uuid, replica), device});
    }
  }
  state.grant_options.pass_device_specs = true;
  return state;
}

void allocate(const Resource& resource, const std::uint8_t* data, int size) {
  v1beta1::AllocateRequest request;
  if (!request.ParseFromArray(data, size)) return;
  for (const auto& container : request.container_requests()) {
    const std::vector<std::string> ids(container.devices_ids().begin(),
                                       container.devices_ids().end());
    const auto grant = resource.allocate(ids);
    if (!grant) {
      if (grant.error().what.empty()) std::abort();
      continue;
    }
    if (grant->ids != ids || grant->devices.size() > 2) std::abort();
    v1beta1::ContainerAllocateResponse answer;
    tranche::deviceplugin::to_wire(*grant, answer);
    if (answer.envs().empty()) std::abort();
  }
}

void prefer(const Resource& resource, const std::uint8_t* data, int size) {
  v1beta1::PreferredAllocationRequest request;
  if (!request.ParseFromArray(data, size)) return;
  for (const auto& container : request.container_requests()) {
    const auto preferred = resource.preferred(tranche::deviceplugin::from_wire(container));
    if (!preferred) continue;
    const auto asked = container.allocation_size();
    if (!preferred->ids.empty() && preferred->ids.size() != static_cast<std::size_t>(asked)) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Resource resource(
      shared_by_two(), [](const tranche::offer::Grant&) -> tranche::Result<void> { return {}; });
  if (size < 1 || size > (1U << 20U)) return 0;
  const int length = static_cast<int>(size - 1);
  if (data[0] % 2 == 0) {
    allocate(resource, data + 1, length);
  } else {
    prefer(resource, data + 1, length);
  }
  return 0;
}
