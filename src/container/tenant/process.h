#pragma once
// Identifies a process of this machine. A later process with the same pid has another start time.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::tenant {

struct ProcessId {
  pid_t pid = 0;                 // in the arbiter's pid namespace: the host's
  std::uint64_t start_time = 0;  // clock ticks since boot, /proc/<pid>/stat
  bool operator==(const ProcessId&) const = default;
};

// Holds a pidfd: readable (poll) when the process has ended.
class Process {
 public:
  // The process that connected to `socket`: by SO_PEERPIDFD where the kernel has it (Linux 6.5),
  // otherwise by SO_PEERCRED and pidfd_open. kNotFound: it has ended, or its pid is not visible in
  // this pid namespace. Other errors of all three functions: this process lacks descriptors or
  // memory, and nothing is known about the other one.
  static Result<Process> peer_of(int socket);
  // The process that has this pid now. kNotFound: there is none.
  static Result<Process> find(pid_t pid);
  // The process with this id. kNotFound: it has ended; another process may have its pid.
  static Result<Process> open(const ProcessId& id);

  const ProcessId& id() const { return id_; }
  int fd() const { return fd_.get(); }
  bool has_ended() const;

 private:
  Process(ProcessId id, Descriptor fd) : id_(id), fd_(std::move(fd)) {}
  static Result<Process> identify(pid_t pid, Descriptor fd);

  ProcessId id_;
  Descriptor fd_;
};

}  // namespace tranche::tenant
