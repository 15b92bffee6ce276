#pragma once
// One process of a kind at a time: a lock on a file, held for the process' life and freed by the
// kernel at its death. Who holds it may remove the file: a lock counts only while its file has its
// name. (The agent's is in its state folder and not in kubelet's, which kubelet empties.)

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::process {

class ProcessLock {
 public:
  // Takes the lock. While another holds it, calls `waiting` (which waits a while and returns
  // whether to go on) and tries again. nullptr when told to stop. kIo, kPermission: the file cannot
  // be made.
  static Result<std::unique_ptr<ProcessLock>> take(const std::filesystem::path& file,
                                                   const std::function<bool()>& waiting);
  // The same for a program with signals: tries again every kRetry. `waiting` is called before each
  // wait with whether it is the first, to tell so once; false: it gives up. nullptr: it gave up, or
  // a signal asked to end.
  static constexpr std::chrono::milliseconds kRetry{500};
  static Result<std::unique_ptr<ProcessLock>> take(const std::filesystem::path& file, int signals,
                                                   const std::function<bool(bool first)>& waiting);
  // Whether somebody holds it now.
  static bool is_held(const std::filesystem::path& file);
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;

 private:
  explicit ProcessLock(int fd) : fd_(fd) {}
  Descriptor fd_;
};

}  // namespace tranche::process
