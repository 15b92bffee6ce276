#pragma once
// The loop of a program. It sleeps until a signal, a task from another thread, a descriptor or a
// point in time wakes it. Then it does what is due. All of this runs on the thread that calls
// run().
//
// A point in time that stays due, turn after turn, is an error of the program. It must not cost a
// processor: after kMostDue turns without sleep the loop says so once and turns each Hooks::pause,
// until nothing is due.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "process/mailbox.h"
#include "process/poller.h"

namespace tranche::process {

// What Hooks::stuck says. `what`: what is due, as far as it is known.
std::string stuck_text(std::string_view what = "something");

class Loop {
 public:
  struct Hooks {
    std::function<void()> hangup;  // SIGHUP
    // Called after every wake-up and its tasks.
    std::function<void()> turn;
    // The longest sleep when nothing wakes the loop; 0: something is due; below 0: without end.
    std::function<std::chrono::milliseconds()> longest_sleep;
    // What is due stays so: said once, until nothing is due.
    std::function<void()> stuck = {};
    std::chrono::milliseconds pause{1000};  // between turns while it stays so
  };
  static constexpr int kMostDue = 20;

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
  // How often run() has turned. Only the loop's thread may call it.
  std::uint64_t turns() const { return turns_; }

 private:
  Loop(Poller poller, std::unique_ptr<Mailbox> mailbox)
      : poller_(std::move(poller)), mailbox_(std::move(mailbox)) {}

  // How long to sleep: hooks.longest_sleep(), with the bound on what stays due.
  std::chrono::milliseconds next_sleep(const Hooks& hooks);

  Poller poller_;
  std::unique_ptr<Mailbox> mailbox_;
  std::uint64_t turns_ = 0;
  int due_ = 0;  // turns in a row before which something was due
};

}  // namespace tranche::process
