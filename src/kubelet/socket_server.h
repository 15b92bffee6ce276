#pragma once
// A gRPC server on a unix socket in one of kubelet's folders. Created serving; the destructor stops
// it, ends its calls and removes the socket. It owns the socket's file: a socket on which somebody
// answers is not taken unless that is asked for, one on which nobody answers is replaced, and it
// sees when its own has been deleted (kubelet deletes every socket it finds when it starts) or
// replaced.
//
// The services (device plugin, later DRA) use it; this header alone of this room, beside the
// generated code, is open to them.

#include <filesystem>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"

namespace grpc {
class Service;
}

namespace tranche::kubelet {

class SocketServer {
 public:
  struct Options {
    std::filesystem::path socket;
    // Take the socket even when someone answers on it.
    bool take_over = false;
    std::string kind;  // of the servers that may answer there: "device plugin"
  };

  // `service` outlives the server; calls of it that do not end by themselves end when their owner
  // has them end, before the server is destroyed. Errors: kAlreadyExists, another process answers
  // on the socket; kInvalidArgument, the path is too long for a unix socket; kIo.
  static Result<std::unique_ptr<SocketServer>> start(const Options& options, grpc::Service& service,
                                                     const Log& log);
  virtual ~SocketServer() = default;

  // Whether the socket's file is still the one this server made.
  virtual bool intact() const = 0;
};

}  // namespace tranche::kubelet
