#include "interpose/contexts.h"

#include "interpose/driver.h"
#include "interpose/system.h"

namespace tranche::interpose {
namespace {

constexpr unsigned kContexts = 64;
constexpr std::uint64_t kKeepTimeEvery = 500'000'000;  // ns

constexpr int kDevices = 64;

ContextState contexts[kContexts];
Context primaries[kDevices];  // as the driver gave them last

}  // namespace

ScopedContext::ScopedContext(Context context)
    : is_pushed_(driver.cuCtxPushCurrent_v2(context) == kSuccess) {}
ScopedContext::~ScopedContext() {
  Context popped = nullptr;
  if (is_pushed_) driver.cuCtxPopCurrent_v2(static_cast<void*>(&popped));
}

void CurrentContext::be(Context context) {
  if (context == context_) return;
  Context popped = nullptr;
  if (context_ != nullptr) driver.cuCtxPopCurrent_v2(static_cast<void*>(&popped));
  const bool is_pushed = context != nullptr && driver.cuCtxPushCurrent_v2(context) == kSuccess;
  context_ = is_pushed ? context : nullptr;
}

ContextState* ContextState::numbered(unsigned number) {
  return number < kContexts ? &contexts[number] : nullptr;
}

std::uint64_t between(Event begin, Event end) {
  float ms = 0;
  if (driver.cuEventElapsedTime(&ms, begin, end) != kSuccess || ms < 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(ms) * 1e6);
}

ContextState* ContextState::of(Context context) {
  ContextState* free = nullptr;
  for (ContextState& state : contexts) {
    if (state.context_ == context) return &state;
    if (state.context_ == nullptr && free == nullptr) free = &state;
  }
  if (free == nullptr) return nullptr;
  const ScopedContext scope(context);
  int device = 0;
  Stream stream = nullptr;
  if (driver.cuCtxGetDevice(&device) != kSuccess ||
      driver.cuStreamCreate(static_cast<void*>(&stream), kNonBlocking) != kSuccess) {
    return nullptr;
  }
  free->clear();
  free->context_ = context;
  free->device_ = device;
  free->part_ = &part_of_device(device);
  free->stream_ = stream;
  return free;
}

// In place: a whole one is too large for a small stack. Events beyond the count are unused.
void ContextState::clear() {
  context_ = nullptr;
  device_ = 0;
  part_ = nullptr;
  stream_ = nullptr;
  event_count_ = 0;
  reference_ = nullptr;
  reference_time_ = 0;
  next_ = nullptr;
  next_since_ = 0;
}

void ContextState::set_primary(Context context, int device) {
  if (device >= 0 && device < kDevices) primaries[device] = context;
}

Context ContextState::primary(int device) {
  return device >= 0 && device < kDevices ? primaries[device] : nullptr;
}

void ContextState::forget(Context context) {
  for (ContextState& state : contexts) {
    if (state.context_ == context) state.clear();
  }
}

void ContextState::forget_all() {
  for (ContextState& state : contexts) state.clear();
  for (Context& context : primaries) context = nullptr;
}

Event ContextState::take_event() {
  if (event_count_ != 0) return events_[--event_count_];
  const ScopedContext scope(context_);
  Event event = nullptr;
  return driver.cuEventCreate(static_cast<void*>(&event), 0) == kSuccess ? event : nullptr;
}

void ContextState::return_event(Event event) {
  if (event == nullptr) return;
  if (event_count_ < kEvents) {
    events_[event_count_++] = event;
  } else {
    driver.cuEventDestroy_v2(event);
  }
}

void ContextState::keep_time(std::uint64_t now) {
  if (next_ == nullptr) {
    if (reference_ != nullptr && now - reference_time_ < kKeepTimeEvery) return;
    next_ = take_event();
    if (next_ == nullptr) return;
    if (driver.cuEventRecord(next_, stream_) != kSuccess) {
      return_event(next_);
      next_ = nullptr;
      return;
    }
    next_since_ = now;
  }
  if (driver.cuEventQuery(next_) != kSuccess) return;
  // It happened between its recording and now. Within that, the old reference is right.
  std::uint64_t time = now;
  if (reference_ != nullptr) {
    time = reference_time_ + between(reference_, next_);
    if (time > now) time = now;
    if (time < next_since_) time = next_since_;
  }
  return_event(reference_);
  reference_ = next_;
  reference_time_ = time;
  next_ = nullptr;
}

std::uint64_t ContextState::time_of(Event event, std::uint64_t now) const {
  if (reference_ == nullptr) return now;
  float ms = 0;
  if (driver.cuEventElapsedTime(&ms, reference_, event) != kSuccess) return now;
  const auto offset = static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
  const std::uint64_t time = reference_time_ + static_cast<std::uint64_t>(offset);
  return time < now ? time : now;
}

}  // namespace tranche::interpose
