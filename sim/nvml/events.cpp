// Event sets: XIDs and changes of the MIG layout, delivered from the machine's ring of events.
//
// A set sees what happens after it registered for a GPU. One that falls more than kMaxEvents behind
// loses the oldest, as the driver's queue does.

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "sim/nvml/library.h"
#include "sim/state/clock.h"
#include "sim/state/faults.h"

namespace tranche::sim {
namespace {

struct EventSet {
  std::mutex mutex;
  bool freed = false;
  std::uint64_t seen = 0;  // sequence number of the newest event looked at
  bool registered = false;
  std::uint64_t types[kMaxGpus] = {};
};

struct EventSets {
  std::mutex mutex;
  std::vector<std::shared_ptr<EventSet>> all;
};

EventSets& event_sets() {
  static auto& instance = *new EventSets;
  return instance;
}

std::shared_ptr<EventSet> find(nvmlEventSet_t handle) {
  EventSets& sets = event_sets();
  const std::scoped_lock lock(sets.mutex);
  for (const auto& set : sets.all) {
    if (reinterpret_cast<nvmlEventSet_t>(set.get()) == handle) return set;  // NOLINT
  }
  return nullptr;
}

std::uint64_t supported_types(const Device& device) {
  std::uint64_t types = nvmlEventTypeXidCriticalError | nvmlEventTypePState | nvmlEventTypeClock;
  if (device.model().ecc != 0) {
    types |= nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError;
  }
  if (device.model().profile_count > 0) types |= nvmlEventMigConfigChange;
  return types;
}

// The next event this set waits for, if it has happened.
bool next(const State& state, EventSet& set, EventSpec& event) {
  const std::scoped_lock lock(set.mutex);
  const std::uint64_t newest = state.event_sequence.load(std::memory_order_acquire);
  if (newest > kMaxEvents) set.seen = std::max(set.seen, newest - kMaxEvents);
  while (set.seen < newest) {
    set.seen += 1;
    if (read_event(state, set.seen, event) && (set.types[event.gpu] & event.type) != 0) return true;
  }
  return false;
}

bool is_freed(EventSet& set) {
  const std::scoped_lock lock(set.mutex);
  return set.freed;
}

nvmlReturn_t wait(const Session& session, EventSet& set, nvmlEventData_t& data,
                  unsigned int timeout_ms) {
  const State& state = session.state();
  const std::uint64_t deadline = real_ns() + std::uint64_t{timeout_ms} * 1'000'000;
  for (;;) {
    const std::uint32_t word = state.event_futex.load(std::memory_order_acquire);
    EventSpec event;
    if (next(state, set, event)) {
      data = {.device = gpu_handle(event.gpu),
              .eventType = event.type,
              .eventData = event.data,
              .gpuInstanceId = event.gpu_instance,
              .computeInstanceId = event.compute_instance};
      return NVML_SUCCESS;
    }
    if (is_freed(set)) return NVML_ERROR_INVALID_ARGUMENT;
    const std::uint64_t now = real_ns();
    if (now >= deadline) return NVML_ERROR_TIMEOUT;
    futex_wait(state.event_futex, word, deadline - now);
  }
}

}  // namespace

NVML_API nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* out) {
  return on_system(__func__, given(out), [&](const Session&) {
    auto set = std::make_shared<EventSet>();
    *out = reinterpret_cast<nvmlEventSet_t>(set.get());  // NOLINT: compared, never followed
    EventSets& sets = event_sets();
    const std::scoped_lock lock(sets.mutex);
    sets.all.push_back(std::move(set));
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t handle) {
  return on_system(__func__, given(handle), [&](const Session& session) {
    const auto set = find(handle);
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    {
      EventSets& sets = event_sets();
      const std::scoped_lock lock(sets.mutex);
      std::erase(sets.all, set);
    }
    {
      const std::scoped_lock lock(set->mutex);
      set->freed = true;
    }
    futex_bump(session.state().event_futex);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t handle,
                                                       unsigned long long* types) {
  return on_gpu(__func__, handle, given(types), [&](const Device& device) {
    *types = supported_types(device);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t handle, unsigned long long types,
                                               nvmlEventSet_t set_handle) {
  return on_gpu(__func__, handle, given(set_handle), [&](const Device& device) {
    const auto set = find(set_handle);
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    if ((types & ~supported_types(device)) != 0) return NVML_ERROR_NOT_SUPPORTED;
    const std::scoped_lock lock(set->mutex);
    if (!set->registered) set->seen = device.state().event_sequence.load();
    set->registered = true;
    set->types[device.gpu] |= types;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t handle, nvmlEventData_t* data,
                                          unsigned int timeout_ms) {
  return on_system(__func__, given(handle, data), [&](const Session& session) {
    const auto set = find(handle);
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    return wait(session, *set, *data, timeout_ms);
  });
}
NVML_API nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t handle, nvmlEventData_t* data,
                                       unsigned int timeout_ms) {
  return nvmlEventSetWait_v2(handle, data, timeout_ms);
}

}  // namespace tranche::sim
