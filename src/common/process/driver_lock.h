#pragma once
// Who of this node's programs has the driver open. A GPU can be reset only while nobody has, so who
// resets one asks the others to let go, and keeps them out until it is done.
//
// The kernel keeps it, as locks of an open file (F_OFD_SETLK): they end with their program, however
// it ends. So no user stays without the driver, and who resets waits for no program that is gone.
//
//     byte 0   write lock: somebody wants all others to let go
//     byte 1   read lock: the driver is open here; write lock: all have let go of it
//     byte 2   write lock: of who writes the file's text, which says what is wanted, before byte 0
//
// Whoever watches the file's folder (base/watch.h) is told of a wish and of its end.
// Used by one thread each.

#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::process {

// Its name, in the folder that the agent and the arbiter share: that of the tenants.
inline constexpr const char* kDriverLock = "driver.lock";
// A user that has not let go by then does not. NVML's own deadline is 5 s.
inline constexpr std::chrono::seconds kLongestLetGo{10};

// One that has the driver open for long.
class DriverUser {
 public:
  explicit DriverUser(std::filesystem::path file) : file_(std::move(file)) {}

  // Whether the driver may be opened. It may until end(). An error: the file cannot be made.
  Result<bool> begin();
  // Somebody wants the driver to be let go of.
  bool is_unwanted() const;
  // DriverRequest::wish of who wants it; an error: it cannot be read. While is_unwanted().
  Result<std::string> wish() const;
  // It is let go of.
  void end();

 private:
  Result<void> open();

  std::filesystem::path file_;
  Descriptor fd_;
};

// What is asked of the users of a file.
struct DriverRequest {
  std::filesystem::path file;
  // What is said of one that does not let go, and what to do.
  std::string trouble = "the arbiter does not let go of the driver";
  std::string remedy = "see its log, and restart its Pod";
  std::string wish = {};  // for the users: what else they are to let go of
};

// Keeps all users away from the driver until it ends.
class DriverPause {
 public:
  // Returns when all users have let go. Without a folder for the file there are none: a null
  // pointer. kTimeout: one has not let go within `limit`, or `stop` was requested.
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
