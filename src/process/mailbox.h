#pragma once
// How threads tell the agent's loop something: a queue with a file descriptor to poll. Thread-safe.

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"

namespace tranche::process {

class Mailbox {
 public:
  // What the loop is to do, run on the loop's own thread.
  using Task = std::function<void()>;

  static Result<std::unique_ptr<Mailbox>> open();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void post(Task task);
  // Readable while tasks wait.
  int fd() const { return fd_; }
  // All tasks that wait, in order; clears the descriptor.
  std::vector<Task> take();

 private:
  explicit Mailbox(int fd) : fd_(fd) {}
  int fd_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
};

}  // namespace tranche::process
