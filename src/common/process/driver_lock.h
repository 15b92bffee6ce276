#pragma once
// Tracks which of this node's programs have the driver open. A GPU can be reset only while none
// has, so a program that resets one asks the others to release it, and keeps them out until it is
// done.
//
// The state consists of open-file locks (F_OFD_SETLK), which the kernel releases when their program
// ends, however it ends. So no user is locked out for good, and a reset never waits for a dead
// program.
//
//     byte 0   write lock: a program wants all others to release the driver
//     byte 1   read lock: the driver is open here; write lock: all have released it
//     byte 2   write lock: held while writing the file's text, the request, before byte 0
//
// Watching the file's folder (base/watch.h) shows when a request begins and ends.
// Each object is used by one thread.

#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::process {

// The file's name, in the tenants' folder that the agent and the arbiter share.
inline constexpr const char* kDriverLock = "driver.lock";
// A user that has not released it by then never will. NVML's own deadline is 5 s.
inline constexpr std::chrono::seconds kLongestRelease{10};

// A program that keeps the driver open.
class DriverUser {
 public:
  explicit DriverUser(std::filesystem::path file) : file_(std::move(file)) {}

  // Whether the driver may be opened now. If so, it may stay open until end(). An error: the file
  // cannot be created.
  Result<bool> begin();
  // Whether a program wants the driver released.
  bool is_unwanted() const;
  // The requester's DriverRequest::wish; an error: it cannot be read. Valid while is_unwanted().
  Result<std::string> wish() const;
  // Reports that the driver is released.
  void end();

 private:
  Result<void> open();

  std::filesystem::path file_;
  Descriptor fd_;
};

// What the users of a file are asked for.
struct DriverRequest {
  std::filesystem::path file;
  // What is reported about a user that does not release it, and what to do.
  std::string trouble = "the arbiter does not let go of the driver";
  std::string remedy = "see its log, and restart its Pod";
  std::string wish = {};  // what else users must release
};

// Keeps all users away from the driver for its lifetime.
class DriverPause {
 public:
  // Returns when all users have released the driver. Without a folder for the file there are no
  // users: a null pointer. kTimeout: one has not released it within `limit`, or `stop` was
  // requested.
  static Result<std::shared_ptr<DriverPause>> take(const DriverRequest& request,
                                                   std::chrono::milliseconds limit,
                                                   const std::stop_token& stop);
  ~DriverPause();
  DriverPause(const DriverPause&) = delete;
  DriverPause& operator=(const DriverPause&) = delete;

 private:
  explicit DriverPause(Descriptor fd) : fd_(std::move(fd)) {}
  Descriptor fd_;
};

}  // namespace tranche::process
