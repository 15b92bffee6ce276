#pragma once
// The gRPC server of one resource: a unix socket in kubelet's device-plugins folder that serves
// DevicePlugin v1beta1. It serves from its creation on. The destructor stops it, ends its streams
// and removes the socket. kubelet deletes every socket that it finds when it starts, so the agent
// then creates a new Server. kubelet/socket_server.h creates and watches the socket.

#include <filesystem>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/result.h"
#include "deviceplugin/resource.h"

namespace tranche::deviceplugin {

class Server {
 public:
  struct Options {
    std::filesystem::path socket;
    // Take the socket even when another process answers on it.
    bool take_over = false;
    // Take it from a process of ours that has handed it over.
    bool handed_over = false;
  };

  // `resource` must outlive the server. Errors: kAlreadyExists, another process answers on the
  // socket; kInvalidArgument, the path is too long for a unix socket; kIo.
  static Result<std::unique_ptr<Server>> start(const Options& options, Resource& resource,
                                               const Log& log);
  virtual ~Server() = default;

  // Whether another process answered on the socket when this server took it (Options::take_over).
  virtual bool took_over() const = 0;
  // Whether the socket file is still the one created by this server (kubelet may have deleted it).
  virtual bool socket_intact() const = 0;
  // kubelet::SocketServer::connections().
  virtual std::vector<Descriptor> connections() const = 0;
};

}  // namespace tranche::deviceplugin
