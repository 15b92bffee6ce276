#pragma once
// The gate's state for each context: events to measure with, and the offset of the device's clock
// to CLOCK_MONOTONIC. Only used under the gate's lock (gate.cpp).
//
// The driver only reports the time between two events. So a reference event is recorded in a stream
// of our own, and assumed to have happened when it was first seen completed. A later event is
// placed by its distance to the reference as the driver reports it, and corrects the drift.

#include <cstdint>

#include "interpose/cuda.h"
#include "interpose/tenants.h"

namespace tranche::interpose {

class ContextState {
 public:
  // The state of `context`; nullptr: there are too many, or the driver refuses. One object per
  // context, until forget().
  static ContextState* of(Context context);
  static void forget(Context context);
  // `context` is the primary one of its device.
  static void set_primary(Context context, int device);
  static void forget_all();
  // Calls `look(context)` for each.
  template <class Look>
  static void each(Look look) {
    ContextState* context = nullptr;
    for (unsigned i = 0; (context = numbered(i)) != nullptr; ++i) {
      if (context->context_ != nullptr) look(*context);
    }
  }
  // The known primary context of `device`; nullptr: none.
  static Context primary(int device);

  // The part of its device; looked up again until it is known.
  const Part* part() {
    if (part_->rule == Part::Rule::kUnknown) part_ = &part_of_device(device_);
    return part_;
  }
  Context context() const { return context_; }
  // An event for measuring; nullptr: the driver refuses.
  Event take_event();
  void return_event(Event event);
  // Advances the clock's reference; never waits.
  void keep_time(std::uint64_t now);
  // When a completed event happened, CLOCK_MONOTONIC ns; `now` until that is known.
  std::uint64_t time_of(Event event, std::uint64_t now) const;

 private:
  static constexpr unsigned kEvents = 1024;

  void clear();
  static ContextState* numbered(unsigned number);  // nullptr: there are no more

  Context context_ = nullptr;
  int device_ = 0;
  const Part* part_ = nullptr;
  Stream stream_ = nullptr;
  Event events_[kEvents] = {};
  unsigned event_count_ = 0;
  Event reference_ = nullptr;
  std::uint64_t reference_time_ = 0;
  Event next_ = nullptr;  // recorded, not yet seen completed
  std::uint64_t next_since_ = 0;
};

// ns between two completed events; 0 if the driver does not report it.
std::uint64_t between(Event begin, Event end);

// Makes `context` the calling thread's current one for this object's lifetime.
class ScopedContext {
 public:
  explicit ScopedContext(Context context);
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;
  ~ScopedContext();

 private:
  bool is_pushed_;
};

// The same for several contexts in turn: switches only if needed.
class CurrentContext {
 public:
  CurrentContext() = default;
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() { be(nullptr); }
  void be(Context context);

 private:
  Context context_ = nullptr;  // nullptr: unchanged
};

}  // namespace tranche::interpose
