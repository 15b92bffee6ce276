#pragma once
// A process's registration with the arbiter, for one tenant: the socket, the policy page and the
// usage file, mapped at the same place for the lifetime of the process.
//
// When the arbiter is gone, the pages keep their last content: memory stays limited, and the gate
// decides how long compute waits. refresh() registers with the next arbiter when there is one; its
// pages are mapped over the old ones (MAP_FIXED replaces atomically), so that threads which read
// them need not know. The next arbiter receives the usage memory with the hello, so that charges
// stay where they are (decision 18). If it continues with different memory, this process's own
// charges are reported again.
//
// One thread at a time calls open() and refresh(); any thread may use the pages. Only libc; never
// throws, never waits longer than the given timeout.

#include <atomic>
#include <cstdint>

#include "interpose/own_descriptor.h"
#include "limit/wire.h"

namespace tranche::interpose {

class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Closes the connection, unless the program already did; the pages stay mapped, because others
  // may use them. The arbiter ends the registration with the process, or if it does not return.

  enum class Outcome : std::uint8_t {
    kRegistered,
    kNobody,    // no arbiter answers (yet)
    kDenied,    // connecting to the socket is not allowed (SELinux, seccomp, its mode)
    kRefused,   // the arbiter refuses: full, or its version or layout differs
    kNoMemory,  // the pages could not be mapped
  };
  // Registers at the socket `path`, within `timeout_ms`.
  Outcome open(const char* path, int timeout_ms);
  // Checks whether the arbiter is still there; otherwise registers with the next one. Cheap while
  // it is there.
  Outcome refresh(int timeout_ms);

  bool is_registered() const { return socket_.is_kept(); }
  // Whether there ever was an arbiter: then the pages exist.
  bool has_pages() const { return policy_ != nullptr; }
  const limit::wire::PolicyPage& policy() const { return *policy_; }
  limit::wire::UsageFile& usage() { return *usage_; }
  unsigned slot() const { return slot_.load(std::memory_order_relaxed); }
  // The descriptor of the usage memory, which is passed to the next arbiter; -1: none.
  int memory() const { return memory_.get(); }

  // Notifies the arbiter. Lost if there is none or it is busy; it makes up for that by checking
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
  std::atomic<unsigned> slot_ = limit::wire::kMaxProcesses;
  std::uint64_t generation_ = 0;
};

}  // namespace tranche::interpose
