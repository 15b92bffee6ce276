#pragma once
// The loop of a program: it sleeps until a signal, a task from another thread, a descriptor or a
// moment wakes it, and does what is due, all on the thread that calls run().

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
    // After whatever woke the loop, tasks included.
    std::function<void()> turn;
    // How long it may sleep when nothing wakes it; below 0: without end.
    std::function<std::chrono::milliseconds()> longest_sleep;
  };

  static Result<std::unique_ptr<Loop>> open();

  // By any thread, also while nobody runs the loop: `task` is done on its thread.
  void post(Mailbox::Task task) { mailbox_->post(std::move(task)); }
  // `handler` whenever `fd` is readable. By the loop's thread.
  Result<void> on_readable(int fd, Poller::Handler handler) {
    return poller_.add(fd, std::move(handler));
  }
  // Before `fd` is closed.
  void forget(int fd) { poller_.remove(fd); }

  // Until a signal asks the process to end. `signals`: a descriptor from open_signals().
  Result<void> run(int signals, const Hooks& hooks);

 private:
  Loop(Poller poller, std::unique_ptr<Mailbox> mailbox)
      : poller_(std::move(poller)), mailbox_(std::move(mailbox)) {}

  Poller poller_;
  std::unique_ptr<Mailbox> mailbox_;
};

}  // namespace tranche::process
