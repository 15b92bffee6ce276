#pragma once
// A process's registration with the arbiter, for one tenant: the socket, the policy page and the
// usage file, mapped where they stay for as long as the process lives.
//
// When the arbiter has gone, the pages keep their last content: memory stays limited, and the gate
// decides how long compute waits. refresh() registers with the next arbiter when
// there is one; its pages are mapped over the old ones (MAP_FIXED replaces at once), so that
// threads which read them need not know. The next arbiter is handed the usage memory with the
// hello, so that charges stay where they are (decision 18). Where it goes on with other memory,
// this process's own charges are told anew.
//
// One thread at a time calls open() and refresh(); the pages may be used by any. libc alone; never
// throws, never waits longer than it is told.

#include <cstdint>

#include "interpose/own_descriptor.h"
#include "limit/wire.h"

namespace tranche::interpose {

class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Closes the connection, unless the program has done so; the pages stay mapped, for others may
  // use them. The arbiter ends the registration with the process, or where it does not come again.

  enum class Outcome : std::uint8_t {
    kRegistered,
    kNobody,    // no arbiter answers (yet)
    kDenied,    // the socket may not be connected to (SELinux, seccomp, its rights)
    kRefused,   // it does: full, or its version or layout is not ours
    kNoMemory,  // the pages could not be mapped
  };
  // Registers at the socket `path`, within `timeout_ms`.
  Outcome open(const char* path, int timeout_ms);
  // Looks whether the arbiter is still there, and registers with the next one otherwise. Cheap
  // while it is.
  Outcome refresh(int timeout_ms);

  bool is_registered() const { return socket_.is_kept(); }
  // Whether there ever was an arbiter: then the pages are there.
  bool has_pages() const { return policy_ != nullptr; }
  const limit::wire::PolicyPage& policy() const { return *policy_; }
  limit::wire::UsageFile& usage() { return *usage_; }
  unsigned slot() const { return slot_; }
  // The descriptor of the usage memory, which the next arbiter is handed; -1: none.
  int memory() const { return memory_.get(); }

  // Tells the arbiter; lost when there is none or it is busy, which it makes good by looking
  // itself.
  void notify(limit::wire::Message kind, unsigned device);

 private:
  Outcome register_at(int socket, int timeout_ms);
  bool take_over(const limit::wire::Welcome& welcome, const int (&fds)[2]);
  bool map(int policy_fd, int usage_fd);
  bool say_hello(int socket) const;

  char path_[108] = {};
  OwnDescriptor socket_;
  OwnDescriptor memory_;  // of the usage file
  limit::wire::PolicyPage* policy_ = nullptr;
  limit::wire::UsageFile* usage_ = nullptr;
  unsigned slot_ = limit::wire::kMaxProcesses;
  std::uint64_t generation_ = 0;
};

}  // namespace tranche::interpose
