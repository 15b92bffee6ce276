#pragma once
// Ensures that one process of a kind runs at a time, by a lock on a file. The process holds the
// lock for its lifetime, and the kernel releases it when the process dies. The holder may remove
// the file: a lock counts only while its file still has its name.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::process {

class ProcessLock {
 public:
  // Takes the lock. While another process holds it, calls `waiting`, which waits a while and
  // returns whether to continue, and tries again. If the other process removes the folder, it is
  // created again. nullptr: `waiting` said to stop. kNotFound: there is no such folder. kIo,
  // kPermission: the file cannot be created.
  static Result<std::unique_ptr<ProcessLock>> take(const std::filesystem::path& file,
                                                   const std::function<bool()>& waiting);
  // The same for a program with signals; tries again every kRetry. `waiting` is called before each
  // wait. `first` is true before the first wait, so that the caller can log it once. Returning
  // false gives up. nullptr: it gave up, or a signal asked the process to terminate.
  static constexpr std::chrono::milliseconds kRetry{500};
  static Result<std::unique_ptr<ProcessLock>> take(const std::filesystem::path& file, int signals,
                                                   const std::function<bool(bool first)>& waiting);
  // Adopts a lock on `file` that another process took and handed over with its descriptor. nullptr:
  // the lock is on another file, and `fd` is left unchanged.
  static std::unique_ptr<ProcessLock> adopt(Descriptor& fd, const std::filesystem::path& file);
  // Copies of the descriptor hold the lock too.
  int fd() const { return fd_.get(); }
  // Whether a process holds the lock now.
  static bool is_held(const std::filesystem::path& file);
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;

 private:
  explicit ProcessLock(int fd) : fd_(fd) {}
  Descriptor fd_;
};

}  // namespace tranche::process
