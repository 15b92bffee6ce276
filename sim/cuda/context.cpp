#include "sim/cuda/context.h"

#include <algorithm>

#include "sim/cuda/arrays.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/events.h"
#include "sim/cuda/modules.h"

namespace tranche::sim::cuda {

using namespace abi;  // NOLINT(google-build-using-namespace): see library.h

namespace {

// A compute mode that lets no one, or no one else, have a context.
bool is_closed(const Driver& driver, const Device& device) {
  const auto mode = device.gpu->compute_mode.load();
  if (mode == CU_COMPUTEMODE_PROHIBITED) return true;
  if (mode != CU_COMPUTEMODE_EXCLUSIVE_PROCESS) return false;
  const auto uses = live_uses(*driver.sim, device.target.gpu);
  return std::ranges::any_of(uses, [&](const LiveUse& live) {
    return live.process != &driver.slot && live.use->contexts.load() > 0;
  });
}

template <class Table>
void erase_all_of(Table& table, const Context& context) {
  std::vector<std::shared_ptr<typename Table::Thing>> gone;
  for (const auto& [number, thing] : table) {
    if (thing->context.lock().get() == &context) gone.push_back(thing);
  }
  for (const auto& thing : gone) table.erase(*thing);
}

StreamPtr make_default_stream(Driver& driver, const ContextPtr& context, bool legacy) {
  auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->is_legacy = legacy;
  stream->id = ++driver.last_id;
  return stream;
}

}  // namespace

std::vector<StreamPtr> Context::all_streams() const {
  std::vector<StreamPtr> all = {legacy};
  for (const auto& [thread, stream] : per_thread) all.push_back(stream);
  for (const auto& [number_of, stream] : streams) all.push_back(stream);
  return all;
}

CUresult make_context(Driver& driver, Device& device, const ContextOptions& options,
                      ContextPtr& out) {
  if (is_closed(driver, device)) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  if (!driver.hold(device)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (device.model->context_bytes > driver.room_for(device) ||
      !take_memory(*driver.sim, *device.use, device.model->context_bytes)) {
    driver.drop(device);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto context = std::make_shared<Context>(device, *driver.space);
  context->sm_count = options.sm_count.value_or(device.sm_count);
  const std::uint32_t cap = context->sm_count * kFullRate / std::max(1U, device.sm_count);
  const auto lane = device.time->add_lane({.group = driver.mps.server,
                                           .cap = std::min(cap, driver.mps.thread_permille),
                                           .process = &driver.slot,
                                           .use = device.use});
  if (!lane) {
    give_memory(*driver.sim, *device.use, device.model->context_bytes);
    driver.drop(device);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  context->lane = *lane;
  context->flags = options.flags;
  context->is_primary = options.is_primary;
  context->id = ++driver.last_id;
  context->legacy = make_default_stream(driver, context, true);
  device.use->contexts.fetch_add(1);
  out = driver.contexts.add(std::move(context));
  return CUDA_SUCCESS;
}

void destroy_context(Driver& driver, const ContextPtr& context) {
  Device& device = context->device;
  const ContextPtr keep = context;
  keep->destroyed = true;
  device.time->remove_lane(keep->lane);
  const auto streams = keep->all_streams();
  driver.executor.cancel(streams);
  for (const StreamPtr& stream : streams) driver.streams.erase(*stream);
  erase_all_of(driver.events, *keep);
  erase_all_of(driver.modules, *keep);
  erase_all_of(driver.functions, *keep);
  erase_all_of(driver.arrays, *keep);
  erase_all_of(driver.mipmaps, *keep);
  std::erase_if(driver.space->ranges(), [&](const auto& entry) {
    const Range& range = entry.second;
    return range.kind != RangeKind::kMapped && range.context.lock() == keep;
  });
  driver.contexts.erase(*keep);
  if (device.primary == keep) {
    device.primary = nullptr;
    device.primary_users = 0;
  }
  device.use->contexts.fetch_sub(1);
  give_memory(*driver.sim, *device.use, device.model->context_bytes);
  driver.drop(device);
}

StreamPtr find_stream(Driver& driver, const ContextPtr& context, CUstream handle,
                      DefaultStream zero) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);  // NOLINT: a number, see handles.h
  constexpr std::uintptr_t kLegacyHandle = 1;
  constexpr std::uintptr_t kPerThreadHandle = 2;
  if (value > kPerThreadHandle) return driver.streams.find(handle);
  const bool per_thread =
      value == kPerThreadHandle || (value != kLegacyHandle && zero == DefaultStream::kPerThread);
  if (!per_thread) return context->legacy;
  StreamPtr& own = context->per_thread[thread_number()];
  if (!own) own = make_default_stream(driver, context, false);
  return own;
}

}  // namespace tranche::sim::cuda
