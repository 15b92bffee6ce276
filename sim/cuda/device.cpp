#include "sim/cuda/device.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "sim/gpu/mig.h"
#include "sim/gpu/shared_memory.h"
#include "sim/machine/identity.h"

namespace tranche::sim::cuda {

using namespace abi;  // NOLINT(google-build-using-namespace): see library.h

namespace {

CUuuid uuid_of(std::string_view text) {
  CUuuid uuid = {};
  const auto bytes = uuid_bytes(text);
  std::memcpy(uuid.bytes, bytes.data(), sizeof uuid.bytes);
  return uuid;
}

void fill_mig(const State& state, Device& device) {
  const Gpu& gpu = *device.gpu;
  const MigDevice mig = {device.target.gpu_instance, device.target.compute_instance};
  const GpuInstance& instance = gpu.instances[mig.gpu_instance];
  const Profile& profile = profile_of(state, gpu, instance);
  device.name += " MIG " + mig_profile_name(state, gpu, mig);
  device.uuid = uuid_of(mig_uuid(gpu, mig));
  device.sm_count = compute_sm(profile, instance.compute[mig.compute_instance].slices);
  device.total_bytes = std::uint64_t{profile.memory_mib} << 20U;
}

}  // namespace

std::unique_ptr<Device> make_device(const DeviceOwner& owner, int ordinal,
                                    const UseTarget& target) {
  const State& state = owner.sim.state();
  auto device = std::make_unique<Device>(owner, ordinal, target);
  device->gpu = &state.gpus[target.gpu];
  device->model = &state.models[device->gpu->model];
  device->limits = limits_of(device->model->cc_major, device->model->cc_minor);
  device->name = device->model->name;
  device->parent_uuid = uuid_of(device->gpu->uuid);
  device->uuid = device->parent_uuid;
  device->sm_count = device->model->sm_count;
  device->total_bytes = device->model->memory_bytes - device->model->reserved_bytes;
  if (target.gpu_instance != kNone) fill_mig(state, *device);
  auto time = GpuTime::open(owner.sim, target);
  if (!time) return nullptr;
  device->time = *time;
  return device;
}

bool Device::hold() {
  if (holders == 0) {
    UseTarget used = target;
    used.kind = owner.mps.is_client() ? UseKind::kMps : UseKind::kCompute;
    auto made = Vram::make(total_bytes);
    if (!made) return false;
    const auto added = add_use(owner.sim, owner.slot, used);
    if (!added) return false;
    use = *added;
    vram = *std::move(made);
  }
  ++holders;
  return true;
}

void Device::drop() {
  if (--holders > 0) return;
  remove_use(owner.sim, *use);
  use = nullptr;
  vram = nullptr;
}

std::uint64_t Device::room() const {
  const std::uint64_t limit = owner.mps.memory_limit(target, static_cast<std::uint32_t>(ordinal));
  if (limit == 0) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t used = memory_of(owner.sim, owner.slot, *use);
  return limit - std::min(limit, used);
}

bool Device::multicasts() const {
  constexpr unsigned kHopper = 90;
  return target.gpu_instance == kNone && limits.capability >= kHopper &&
         owner.sim.state().switch_count > 0;
}

SharedMemoryLabel Device::label(std::uint64_t size) const {
  struct stat info = {};
  std::ignore = ::stat(owner.sim.path().c_str(), &info);
  return {.magic = kSharedMemoryMagic,
          .size = size,
          .gpu = target.gpu,
          .gpu_instance = target.gpu_instance,
          .compute_instance = target.compute_instance,
          .state = info.st_ino};
}

// Peers are GPUs of one model on one machine; MIG devices have none.
bool can_access(const Device& device, const Device& other) {
  return &device != &other && device.target.gpu_instance == kNone &&
         other.target.gpu_instance == kNone && device.model == other.model;
}

}  // namespace tranche::sim::cuda
