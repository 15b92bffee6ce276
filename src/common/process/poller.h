#pragma once
// epoll with a handler for each descriptor. Used by one thread.

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

  // Calls `handler` whenever `fd` is readable or at its end. The handler may add and remove
  // descriptors, including its own.
  Result<void> add(int fd, Handler handler);
  // Must be called before `fd` is closed. An unknown `fd` is ignored.
  void remove(int fd);
  // Calls the handlers of descriptors that are ready, or become ready within `timeout` (below 0:
  // unlimited). A signal ends the wait.
  bool wait(std::chrono::milliseconds timeout);

 private:
  explicit Poller(Descriptor fd) : fd_(std::move(fd)) {}

  Descriptor fd_;
  // Shared, because a handler that removes itself is still running.
  std::map<int, std::shared_ptr<Handler>> handlers_;
};

}  // namespace tranche::process
