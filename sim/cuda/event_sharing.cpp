// Events of other processes: cuIpc handles of events.
//
// A handle names the event in the state that all processes of the machine share. A process that has
// opened it keeps it, even if the exporter destroys it or dies (the driver does not specify that
// case). The work of a process that dies is over, and so are its recordings.

#include <algorithm>
#include <cstring>

#include "sim/cuda/abi_memory.h"
#include "sim/cuda/events.h"
#include "sim/cuda/library.h"

namespace tranche::sim::cuda {
namespace {

// What the 64 bytes of a handle hold. The rest of them are 0.
struct IpcEventHandle {
  std::uint64_t magic;
  std::uint64_t state;  // inode of the machine's state
  SharedEventId event;
};
constexpr std::uint64_t kIpcMagic = 0x5645494D49534E54;  // "TNSIMIEV"
static_assert(sizeof(IpcEventHandle) <= sizeof(CUipcEventHandle));

CUipcEventHandle pack(const Device& device, SharedEventId event) {
  const IpcEventHandle handle = {
      .magic = kIpcMagic, .state = device.label(0).state, .event = event};
  CUipcEventHandle packed = {};
  std::memcpy(packed.reserved, &handle, sizeof handle);
  return packed;
}

// nullopt: it was not made on this machine, whatever it is.
std::optional<SharedEventId> unpack(const Device& device, const CUipcEventHandle& packed) {
  IpcEventHandle handle = {};
  std::memcpy(&handle, packed.reserved, sizeof handle);
  const CUipcEventHandle good = pack(device, handle.event);
  if (std::memcmp(&good, &packed, sizeof good) != 0 || handle.event.reserved != 0) {
    return std::nullopt;
  }
  return handle.event;
}

// Whether a context on `device` may wait for what is recorded there.
bool can_reach(const Driver& driver, const Device& device, const UseTarget& there) {
  return std::ranges::any_of(driver.devices, [&](const auto& one) {
    const bool is_there =
        one->target.gpu == there.gpu && one->target.gpu_instance == there.gpu_instance;
    return is_there && (one.get() == &device || can_access(device, *one));
  });
}

CUresult open(Call& call, const Device& device, const CUipcEventHandle& packed, CUevent* out) {
  const auto id = unpack(device, packed);
  if (!id) return CUDA_ERROR_INVALID_HANDLE;
  const Simulation& sim = *call.driver.sim;
  if (is_maker(sim, call.driver.slot, *id)) return CUDA_ERROR_INVALID_CONTEXT;
  const auto held = hold_shared_event(sim, call.driver.slot, *id);
  if (!held) {
    return held.error().code == Code::kUnavailable ? CUDA_ERROR_OUT_OF_MEMORY
                                                   : CUDA_ERROR_INVALID_HANDLE;
  }
  auto event = std::make_shared<Event>();
  event->context = call.context;
  event->flags = CU_EVENT_DISABLE_TIMING;
  event->share = std::make_shared<EventShare>(sim, call.driver.slot, *id);
  if (!can_reach(call.driver, device, device_of_shared_event(sim, *id))) {
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  }
  *out = handle_of<CUevent>(*call.driver.events.add(std::move(event)));
  return CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<EventShare> EventShare::make(const Device& device) {
  const DeviceOwner& owner = device.owner;
  const auto id = add_shared_event(owner.sim, owner.slot, device.target);
  return id ? std::make_shared<EventShare>(owner.sim, owner.slot, *id) : nullptr;
}

CUDA_API CUresult cuIpcGetEventHandle(CUipcEventHandle* out, CUevent handle) {
  return on_context(__func__, given(out), [&](Call& call, Context& context) {
    const EventPtr event = call.driver.events.find(handle);
    if (!event || (event->flags & CU_EVENT_INTERPROCESS) == 0) return CUDA_ERROR_INVALID_HANDLE;
    *out = pack(context.device, event->share->id());
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle handle) {
  return on_context(__func__, given(out), [&](Call& call, Context& context) {
    return open(call, context.device, handle, out);
  });
}

}  // namespace tranche::sim::cuda
