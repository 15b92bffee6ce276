// The driver's start, and contexts: which one a thread works in, and when one ends.

#include "interpose/arrays.h"
#include "interpose/contexts.h"
#include "interpose/driver.h"
#include "interpose/exports.h"
#include "interpose/failures.h"
#include "interpose/first_context.h"
#include "interpose/gate.h"
#include "interpose/helper.h"
#include "interpose/memory.h"
#include "interpose/pending_frees.h"
#include "interpose/pools.h"
#include "interpose/released.h"
#include "interpose/report.h"
#include "interpose/tenants.h"
#include "interpose/unreported.h"

using namespace tranche::interpose;

namespace {

int switched(int status) {
  forget_current_context();
  return status;
}

// The helper's tasks: this file knows them, the helper does not.
bool has_something_pending() { return has_work() || has_pending_frees(); }
void look_after_work() {
  harvest();
  close_stale();
  settle_frees();
}
void look_after_tenants() {
  keep_joined();
  settle_pools();
  for (unsigned i = 0; i < kMaxParts; ++i) {
    const Part& part = part_numbered(i);
    if (part.rule == Part::Rule::kTenant) look_after_waiters(part);
  }
  if (settle_released()) tell_of_memory();
}

// A process begins to use a device with its first context; one that only looks at devices does not
// register.
int made(int status) {
  forget_current_context();
  if (status != kSuccess || !has_tenants()) return status;
  join(Wait::kNot);
  start_helper({has_something_pending, look_after_work, look_after_tenants});
  tell_of_memory();
  return status;
}

// Free memory can only be queried in a context of that device.
const Part* part_to_watch(int device) {
  int current = -1;
  const bool is_its = driver.cuCtxGetDevice(&current) == kSuccess && current == device;
  return is_its ? &part_of_device(device) : nullptr;
}

// `create`: a CUresult; it leaves the context in `context`.
template <class Create>
int make(void* context, int device, Create create) {
  if (!has_tenants()) return made(create());
  const Part& part = part_of_device(device);
  const Part* watched = part_to_watch(device);
  FirstContext first(watched == nullptr ? &part : nullptr);
  if (is_over(part)) {
    note_refused(part, 0);
    return kOutOfMemory;
  }
  first.charge();
  const FreeMemory memory(watched);
  const int status = create();
  if (status == kSuccess) {
    memory.note_context(*static_cast<Context*>(context));
    first.made();
  }
  return made(status);
}

bool has_primary(int device) {
  unsigned flags = 0;
  int is_active = 0;
  return driver.cuDevicePrimaryCtxGetState(device, &flags, &is_active) == kSuccess &&
         is_active != 0;
}

// Under the gate's lock: another context may get the handle as soon as it is released.
void end(ContextChange& change, Context context) {
  note_context_ended(context);
  change.ended(context);
  end_memory_of(context);
  end_arrays_of(context);
}

int destroy(Context context, int (*call)(void*)) {
  ContextChange change;
  const FreesPaused paused;
  const int status = call(context);
  if (status == kSuccess) end(change, context);
  return status;
}

// Others may still hold the device's primary context; if the driver does not say, it is assumed to
// live.
bool is_primary_gone(int device) {
  unsigned flags = 0;
  int is_active = 1;
  return driver.cuDevicePrimaryCtxGetState(device, &flags, &is_active) == kSuccess &&
         is_active == 0;
}

int let_primary_go(int device, int (*call)(int)) {
  ContextChange change;
  const FreesPaused paused;
  const int status = call(device);
  const Context context = is_primary_gone(device) ? ContextState::primary(device) : nullptr;
  if (context != nullptr) end(change, context);
  return status;
}

int reset_primary(int device, int (*call)(int)) {
  ContextChange change;
  const FreesPaused paused;
  const int status = call(device);
  const Context context = ContextState::primary(device);
  if (status == kSuccess && context != nullptr) end(change, context);
  return status;
}

}  // namespace

int cuInit(unsigned flags) {
  if (!bind_cuda(nullptr)) return kNotInitialized;
  const int status = driver.cuInit(flags);
  if (status != kSuccess || !has_tenants()) return status;
  tranche_is_gated.store(true);
  return status;
}

int cuCtxCreate(void* context, unsigned flags, int device) {
  return make(context, device, [&] { return driver.cuCtxCreate(context, flags, device); });
}
int cuCtxCreate_v2(void* context, unsigned flags, int device) {
  return make(context, device, [&] { return driver.cuCtxCreate_v2(context, flags, device); });
}
int cuCtxCreate_v3(void* context, void* affinity, int count, unsigned flags, int device) {
  return make(context, device,
              [&] { return driver.cuCtxCreate_v3(context, affinity, count, flags, device); });
}
int cuCtxCreate_v4(void* context, void* parameters, unsigned flags, int device) {
  return make(context, device,
              [&] { return driver.cuCtxCreate_v4(context, parameters, flags, device); });
}
int cuDevicePrimaryCtxRetain(void* context, int device) {
  const auto retain = [&] { return driver.cuDevicePrimaryCtxRetain(context, device); };
  const int status = has_primary(device) ? made(retain()) : make(context, device, retain);
  if (status == kSuccess) ContextState::set_primary(*static_cast<Context*>(context), device);
  return status;
}

int cuCtxDestroy(void* context) { return destroy(context, driver.cuCtxDestroy); }
int cuCtxDestroy_v2(void* context) { return destroy(context, driver.cuCtxDestroy_v2); }
int cuDevicePrimaryCtxRelease(int device) {
  return let_primary_go(device, driver.cuDevicePrimaryCtxRelease);
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return let_primary_go(device, driver.cuDevicePrimaryCtxRelease_v2);
}
int cuDevicePrimaryCtxReset(int device) {
  return reset_primary(device, driver.cuDevicePrimaryCtxReset);
}
int cuDevicePrimaryCtxReset_v2(int device) {
  return reset_primary(device, driver.cuDevicePrimaryCtxReset_v2);
}

int cuCtxSetCurrent(void* context) { return switched(driver.cuCtxSetCurrent(context)); }
int cuCtxPushCurrent(void* context) { return switched(driver.cuCtxPushCurrent(context)); }
int cuCtxPushCurrent_v2(void* context) { return switched(driver.cuCtxPushCurrent_v2(context)); }
int cuCtxPopCurrent(void* context) { return switched(driver.cuCtxPopCurrent(context)); }
int cuCtxPopCurrent_v2(void* context) { return switched(driver.cuCtxPopCurrent_v2(context)); }
