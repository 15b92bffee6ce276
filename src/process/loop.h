#pragma once
// The loop of a program. It sleeps until a signal, a task from another thread, a descriptor or a
// point in time wakes it. Then it does what is due. All of this runs on the thread that calls
// run().

#include <chrono>
#include <functional>
#include <memory>

#include "base/result.h"
#include "process/mailbox.h"
#include "process/poller.h"

namespace tranche::process {

class Loop {
 public:
  struct Hooks {
    std::function<void()> hangup;  // SIGHUP
    // Called after every wake-up and its tasks.
    std::function<void()> turn;
    // The longest sleep when nothing wakes the loop; below 0: without end.
    std::function<std::chrono::milliseconds()> longest_sleep;
  };

  static Result<std::unique_ptr<Loop>> open();

  // Runs `task` on the loop's thread. Any thread may call it, also while the loop does not run.
  void post(Mailbox::Task task) { mailbox_->post(std::move(task)); }
  // Calls `handler` whenever `fd` is readable. Only the loop's thread may call it.
  Result<void> on_readable(int fd, Poller::Handler handler) {
    return poller_.add(fd, std::move(handler));
  }
  // Must be called before `fd` is closed.
  void forget(int fd) { poller_.remove(fd); }

  // Runs until a signal asks the process to end. `signals`: a descriptor from open_signals().
  Result<void> run(int signals, const Hooks& hooks);

 private:
  Loop(Poller poller, std::unique_ptr<Mailbox> mailbox)
      : poller_(std::move(poller)), mailbox_(std::move(mailbox)) {}

  Poller poller_;
  std::unique_ptr<Mailbox> mailbox_;
};

}  // namespace tranche::process
