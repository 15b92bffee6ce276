#pragma once
// How long the word of a process that says nothing more is believed.
//
// What a process has asked for and not told to have ended is taken to be on the device, and others
// wait for it. A process that was stopped (SIGSTOP, a frozen container, a debugger) tells nothing,
// although its work has long ended. So its word counts for as long as that work may take, and then
// for nothing until it speaks again. A launch that does take longer is no harm: the others share
// the device with it, as without the limiter.
//
// Pure, not thread-safe; one for each process and device.

#include <optional>

#include "limit/time.h"

namespace tranche::limit {

class StaleWork {
 public:
  // Between two words of a process that works, on a busy machine.
  static constexpr Ns kPatience = std::chrono::milliseconds(100);
  // Work that is expected to take longer is waited for no longer.
  static constexpr Ns kLongest = std::chrono::seconds(1);
  // So long what it has begun is charged to it.
  static constexpr Ns kCharged = std::chrono::seconds(3);

  // At `now` it has `unfinished` work; `spoke`: it told since the last time that some had ended.
  void hear(Ns now, Ns unfinished, bool spoke);
  // Whether what is unfinished holds others back.
  bool is_believed() const { return is_believed_; }
  // Whether the device is charged to it.
  bool is_charged() const { return is_charged_; }

 private:
  std::optional<Ns> since_;  // its last word, or the begin of its work
  bool is_believed_ = true;
  bool is_charged_ = true;
};

}  // namespace tranche::limit
