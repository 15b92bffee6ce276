#pragma once
// A queue of tasks from other threads for a loop, with a file descriptor to poll. Thread-safe.

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"

namespace tranche::process {

class Mailbox {
 public:
  // A task for the loop, run on the loop's own thread.
  using Task = std::function<void()>;

  static Result<std::unique_ptr<Mailbox>> open();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void post(Task task);
  // Readable while tasks are waiting.
  int fd() const { return fd_; }
  // Returns all waiting tasks in order, and clears the descriptor.
  std::vector<Task> take();

 private:
  explicit Mailbox(int fd) : fd_(fd) {}
  int fd_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
};

}  // namespace tranche::process
