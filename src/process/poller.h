#pragma once
// Who is ready: epoll, with what to do for each descriptor. Used by one thread.

#include <chrono>
#include <functional>
#include <map>
#include <memory>

#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::process {

class Poller {
 public:
  using Handler = std::function<void()>;

  static Result<Poller> create();

  // Calls `handler` whenever `fd` is readable or at its end. It may add and remove, itself
  // included.
  Result<void> add(int fd, Handler handler);
  // Before `fd` is closed. Not there: nothing happens.
  void remove(int fd);
  // Handles what is ready, or what becomes ready within `timeout` (below 0: without end). A signal
  // ends the wait.
  bool wait(std::chrono::milliseconds timeout);

 private:
  explicit Poller(Descriptor fd) : fd_(std::move(fd)) {}

  Descriptor fd_;
  // Shared: a handler that removes itself is still running.
  std::map<int, std::shared_ptr<Handler>> handlers_;
};

}  // namespace tranche::process
