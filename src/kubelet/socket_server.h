#pragma once
// A gRPC server on a unix socket in one of kubelet's folders. It serves from its creation on. The
// destructor stops it, ends its calls and removes the socket. The server owns the socket's file. It
// replaces a socket on which no process answers. It takes a socket on which a process answers only
// if `take_over` is set. It notices when its own socket was replaced or deleted: kubelet deletes
// every socket that it finds when it starts.
//
// The services (device plugin, later DRA) use it. Of this room only this header and the generated
// code are open to them.

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
    // Take the socket even when another process answers on it.
    bool take_over = false;
    std::string kind;  // kind of server that may answer there, for messages: "device plugin"
  };

  // `service` must outlive the server. If a call of the service does not end by itself, its owner
  // must end it before the server is destroyed. Errors: kAlreadyExists, another process answers on
  // the socket; kInvalidArgument, the path is too long for a unix socket; kIo.
  static Result<std::unique_ptr<SocketServer>> start(const Options& options, grpc::Service& service,
                                                     const Log& log);
  virtual ~SocketServer() = default;

  // Whether the socket's file is still the one this server made.
  virtual bool intact() const = 0;
};

}  // namespace tranche::kubelet
