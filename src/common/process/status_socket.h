#pragma once
// How a process answers probes: on a unix socket without a file. A file would need disk space, and
// a probe that reads a file cannot distinguish a full disk from a hanging process: it would
// restart the process forever.
//
// The name is in the kernel's abstract socket space, which belongs to the network namespace. It
// contains the process's mount namespace, so that with two containers on one network (hostNetwork)
// each probe finds its own process. It also contains the process's subject (`of`), so that several
// may run next to each other. Each client is sent "<age of the last beat, ms> <text>\n". A
// separate thread answers, so a hanging loop shows in the age. Only a process of the same user is
// trusted.
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
  // `who`: "agent". `of`: distinguishes it from others of its kind, such as its state folder. The
  // clock must outlive it.
  StatusSocket(std::string_view who, std::string_view of, const Clock& clock);
  ~StatusSocket();
  StatusSocket(const StatusSocket&) = delete;
  StatusSocket& operator=(const StatusSocket&) = delete;

  // Called by the loop. An error: this process cannot be probed; the next call tries again.
  Result<void> beat(std::string text);

  struct Answer {
    std::chrono::milliseconds age{0};  // since the last beat
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
  mutable std::mutex mutex_;  // guards the two members below
  std::string text_;
  std::optional<std::chrono::steady_clock::time_point> beat_;
  Descriptor socket_;
  Descriptor wake_;
  std::jthread server_;  // last: it uses the others
};

}  // namespace tranche::process
