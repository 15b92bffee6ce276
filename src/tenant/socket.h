#pragma once
// A tenant's socket: SOCK_SEQPACKET, one message a packet (limit/wire.h), non-blocking throughout.
//
// Hostile input: a packet that is not ours ends its connection, a reader takes at most one packet a
// call, and nothing is ever waited for, so no tenant can hold up another one. Who connects is told
// by the kernel, not by what is sent.

#include <filesystem>
#include <optional>

#include "base/descriptor.h"
#include "base/result.h"
#include "tenant/messages.h"
#include "tenant/process.h"

namespace tranche::tenant {

class Connection {
 public:
  Connection(Descriptor fd, Process process) : fd_(std::move(fd)), process_(std::move(process)) {}

  int fd() const { return fd_.get(); }
  const Process& process() const { return process_; }

  // The next message; nullopt: none yet. kUnavailable: the peer has gone; kInvalidArgument: it sent
  // what is no message. In both cases the connection is to be dropped.
  Result<std::optional<Incoming>> receive();
  // With the two descriptors when `answer` accepts. kUnavailable: the peer has gone or takes
  // nothing.
  Result<void> send(const limit::wire::Welcome& welcome, int policy_fd, int usage_fd);

 private:
  Descriptor fd_;
  Process process_;
};

class Listener {
 public:
  // Listens at `path`, in place of a socket that an earlier arbiter left there. By `mode` anyone
  // who reaches the path may connect (the folder is what is mounted). kIo; kInvalidArgument: the
  // path is too long for a socket.
  static Result<Listener> open(const std::filesystem::path& path, mode_t mode = 0666);
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;

  int fd() const { return fd_.get(); }
  // nullopt: nobody waits (any more).
  Result<std::optional<Connection>> accept();

 private:
  explicit Listener(Descriptor fd) : fd_(std::move(fd)) {}
  Descriptor fd_;
};

}  // namespace tranche::tenant
