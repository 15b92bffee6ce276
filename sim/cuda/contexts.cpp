#include "sim/cuda/contexts.h"

#include <algorithm>

#include "sim/cuda/arrays.h"
#include "sim/cuda/events.h"
#include "sim/cuda/modules.h"
#include "sim/gpu/memory.h"

namespace tranche::sim::cuda {

using namespace abi;  // NOLINT(google-build-using-namespace): see library.h

namespace {

// Does the GPU's compute mode, or the MPS server, let this process have one more context?
CUresult ask_leave(Driver& driver, const Device& device) {
  UseTarget target = device.target;
  if (driver.mps.is_client()) target.kind = UseKind::kMps;
  if (!admits(*driver.sim, driver.slot, target)) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  return driver.mps.is_client() ? driver.mps.add_context(target) : CUDA_SUCCESS;
}

template <class Table>
void erase_all_of(Table& table, const Context& context) {
  std::vector<std::shared_ptr<typename Table::Thing>> gone;
  for (const auto& [number, thing] : table) {
    if (thing->context.lock().get() == &context) gone.push_back(thing);
  }
  for (const auto& thing : gone) table.erase(*thing);
}

}  // namespace

static CUresult make_admitted(Driver& driver, Device& device, const ContextOptions& options,
                              ContextPtr& out) {
  if (!device.hold()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (device.model->context_bytes > device.room() ||
      !take_memory(*driver.sim, *device.use, device.model->context_bytes)) {
    device.drop();
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto context = std::make_shared<Context>(device, *driver.space);
  const std::uint32_t sm_count = options.sm_count.value_or(device.sm_count);
  const std::uint32_t cap = sm_count * kFullRate / std::max(1U, device.sm_count);
  const auto lane = device.time->add_lane({.group = driver.mps.group(),
                                           .cap = std::min(cap, driver.mps.thread_permille()),
                                           .process = &driver.slot,
                                           .use = device.use});
  if (!lane) {
    give_memory(*driver.sim, *device.use, device.model->context_bytes);
    device.drop();
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  context->lane = *lane;
  context->is_primary = options.is_primary;
  context->legacy = make_default_stream(driver, context, true);
  device.use->contexts.fetch_add(1);
  out = context;
  const bool is_again = options.is_primary && device.primary_number != 0;
  if (is_again) {
    context->number = device.primary_number;
    driver.contexts.restore(context);
  } else {
    driver.contexts.add(std::move(context));
  }
  if (options.is_primary) device.primary_number = out->number;
  return CUDA_SUCCESS;
}

CUresult make_context(Driver& driver, Device& device, const ContextOptions& options,
                      ContextPtr& out) {
  if (const CUresult refused = ask_leave(driver, device); refused != CUDA_SUCCESS) return refused;
  const CUresult made = make_admitted(driver, device, options, out);
  if (made != CUDA_SUCCESS && driver.mps.is_client()) driver.mps.remove_context(device.target);
  return made;
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
  keep->grown = {};
  if (device.primary == keep) device.primary = nullptr;
  device.use->contexts.fetch_sub(1);
  give_memory(*driver.sim, *device.use, device.model->context_bytes);
  device.drop();
  if (driver.mps.is_client()) driver.mps.remove_context(device.target);
}

}  // namespace tranche::sim::cuda
