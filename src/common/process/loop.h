#pragma once
// The loop of a program. It sleeps until a signal, a task from another thread, a descriptor or a
// point in time wakes it. Then it does what is due. All of this runs on the thread that calls
// run().
//
// A deadline that stays due turn after turn is a bug in the program. It must not burn a CPU: after
// kMostDue turns without sleep the loop reports it once and turns every Hooks::pause, until nothing
// is due.

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

// The text for Hooks::stuck. `what`: what is due, if known.
std::string stuck_text(std::string_view what = "something");

class Loop {
 public:
  struct Hooks {
    std::function<void()> hangup;  // SIGHUP
    // Called after every wake-up and its tasks.
    std::function<void()> turn;
    // The longest sleep when nothing wakes the loop; 0: something is due; below 0: unlimited.
    std::function<std::chrono::milliseconds()> longest_sleep;
    // Called once when work stays due; again only after nothing was due.
    std::function<void()> stuck = {};
    std::chrono::milliseconds pause{1000};  // between turns while work stays due
  };
  static constexpr int kMostDue = 20;

  static Result<std::unique_ptr<Loop>> open();

  // Runs `task` on the loop's thread. Any thread may call it, even while the loop is not running.
  void post(Mailbox::Task task) { mailbox_->post(std::move(task)); }
  // Calls `handler` whenever `fd` is readable. Only on the loop's thread.
  Result<void> on_readable(int fd, Poller::Handler handler) {
    return poller_.add(fd, std::move(handler));
  }
  // Must be called before `fd` is closed.
  void forget(int fd) { poller_.remove(fd); }

  // Runs until a signal asks the process to terminate. `signals`: a descriptor from open_signals().
  Result<void> run(int signals, const Hooks& hooks);
  // How many turns run() has made. Only on the loop's thread.
  std::uint64_t turns() const { return turns_; }

 private:
  Loop(Poller poller, std::unique_ptr<Mailbox> mailbox)
      : poller_(std::move(poller)), mailbox_(std::move(mailbox)) {}

  // How long to sleep: hooks.longest_sleep(), limited while work stays due.
  std::chrono::milliseconds next_sleep(const Hooks& hooks);

  Poller poller_;
  std::unique_ptr<Mailbox> mailbox_;
  std::uint64_t turns_ = 0;
  int due_ = 0;  // consecutive turns with something due
};

}  // namespace tranche::process
