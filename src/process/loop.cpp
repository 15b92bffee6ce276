#include "process/loop.h"

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
    poller_.wait(hooks.longest_sleep());
    if (ended) break;
    for (const auto& task : mailbox_->take()) task();
    hooks.turn();
  }
  poller_.remove(signals);
  return {};
}

}  // namespace tranche::process
