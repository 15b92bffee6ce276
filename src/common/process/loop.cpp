#include "process/loop.h"

#include <fmt/format.h>

#include <csignal>

#include "process/signals.h"

namespace tranche::process {

Result<std::unique_ptr<Loop>> Loop::open() {
  ASSIGN_OR_RETURN(auto poller, Poller::create());
  ASSIGN_OR_RETURN(auto mailbox, Mailbox::open());
  // The descriptor only wakes the loop: run() takes the tasks.
  TRY(poller.add(mailbox->fd(), [] {}));
  return std::unique_ptr<Loop>(new Loop(std::move(poller), std::move(mailbox)));
}

Result<void> Loop::run(int signals, const Hooks& hooks) {
  bool ended = false;
  TRY(poller_.add(signals, [&] {
    while (const int signal = next_signal(signals)) {
      if (ends_process(signal)) ended = true;
      if (signal == SIGHUP && !ended) hooks.hangup();
    }
  }));
  while (true) {
    poller_.wait(next_sleep(hooks));
    if (ended) break;
    ++turns_;
    for (const auto& task : mailbox_->take()) task();
    hooks.turn();
  }
  poller_.remove(signals);
  return {};
}

std::string stuck_text(std::string_view what) {
  return fmt::format(
      "what is due stays due ({}), so the loop turns once a second until it does not: this is a "
      "defect of Tranche; report it with this log",
      what);
}

std::chrono::milliseconds Loop::next_sleep(const Hooks& hooks) {
  const auto sleep = hooks.longest_sleep();
  if (sleep != std::chrono::milliseconds(0)) {
    due_ = 0;
    return sleep;
  }
  if (due_ < kMostDue) {
    ++due_;
    if (due_ == kMostDue && hooks.stuck) hooks.stuck();
    return sleep;
  }
  return hooks.pause;
}

}  // namespace tranche::process
