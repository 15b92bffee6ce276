#pragma once
// How a process answers probes: on a unix socket that has no file. A file would need a disk with
// room, and a probe that reads a file cannot tell a full disk from a process that hangs: it would
// have the process restarted for ever.
//
// The name is in the kernel's abstract space, which belongs to the network namespace. It holds the
// process's mount namespace, so that of two containers with one network (hostNetwork) each probe
// finds its own process, and what the process was started for (`of`), so that several may run
// beside each other. Whoever connects is sent "<age of the last beat, ms> <text>\n". A thread
// answers, so a loop that hangs is known by the age. Nobody but the same user's process is
// believed.
//
// Thread-safe.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::process {

class StatusSocket {
 public:
  // `who`: "agent". `of`: what tells it from others of its kind, such as its state folder. The
  // clock outlives it.
  StatusSocket(std::string_view who, std::string_view of, const Clock& clock);
  ~StatusSocket();
  StatusSocket(const StatusSocket&) = delete;
  StatusSocket& operator=(const StatusSocket&) = delete;

  // Called by the loop. An error: nobody can ask this process; the next call tries again.
  Result<void> beat(std::string text);

  struct Answer {
    std::chrono::milliseconds age{0};  // of the last beat
    std::string text;
  };
  // Asks the process. kUnavailable: there is none, or it does not answer in time.
  static Result<Answer> ask(std::string_view who, std::string_view of,
                            std::chrono::milliseconds timeout = std::chrono::seconds(2));

 private:
  Result<void> open();
  void serve(const std::stop_token& stop);
  std::string answer() const;

  const std::string name_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards the two below
  std::string text_;
  std::optional<std::chrono::steady_clock::time_point> beat_;
  Descriptor socket_;
  Descriptor wake_;
  std::jthread server_;  // last: it uses the others
};

}  // namespace tranche::process
