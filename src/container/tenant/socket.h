#pragma once
// A tenant's socket: SOCK_SEQPACKET, one message per packet (limit/wire.h), always non-blocking.
//
// Input is hostile: a packet that is not in our format ends its connection, and each call reads at
// most one packet. No call blocks, so no tenant can delay another one. The kernel identifies the
// peer; the messages do not.

#include <filesystem>
#include <optional>

#include "base/descriptor.h"
#include "base/result.h"
#include "tenant/foreign_descriptor.h"
#include "tenant/messages.h"
#include "tenant/process.h"

namespace tranche::tenant {

class Connection {
 public:
  // `peer`: for messages.
  Connection(Descriptor fd, pid_t peer) : fd_(std::move(fd)), peer_(peer) {}

  int fd() const { return fd_.get(); }

  // The next message; nullopt: none yet. kUnavailable: the peer is gone; kInvalidArgument: the
  // packet is not a message. After either error the caller drops the connection.
  // `memory`, if not null, receives a descriptor that came with the message. Without it the kernel
  // drops descriptors.
  Result<std::optional<Incoming>> receive(std::optional<ForeignDescriptor>* memory = nullptr);
  // Sends `welcome`, with the two descriptors if its answer is kAccepted. kUnavailable: the peer is
  // gone or does not read.
  Result<void> send(const limit::wire::Welcome& welcome, int policy_fd, int usage_fd);

 private:
  Descriptor fd_;
  pid_t peer_;
};

// The connected peer, and the kernel's information about its process.
struct Peer {
  Connection connection;
  Process process;
};

class Listener {
 public:
  // Listens at `path`, replacing a socket left there by an earlier arbiter. With the default `mode`
  // every user who can reach the path may connect: the mounted folder limits who can. kIo;
  // kInvalidArgument: the path is too long for a socket.
  static Result<Listener> open(const std::filesystem::path& path, mode_t mode = 0666);
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;

  int fd() const { return fd_.get(); }
  // nullopt: no peer is waiting, or the waiting one is gone. kIo: this process lacks descriptors or
  // memory; the peer keeps waiting, or finds its connection closed.
  Result<std::optional<Peer>> accept();

 private:
  explicit Listener(Descriptor fd) : fd_(std::move(fd)) {}
  Descriptor fd_;
};

}  // namespace tranche::tenant
