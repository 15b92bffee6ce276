#pragma once
// The Registration service on kubelet.sock. It only translates; the handler decides.
//
// Serves from construction until destruction. The handler is called on gRPC's threads, several at a
// time; the destructor waits for running calls, so its caller first makes sure that they end.

#include <filesystem>
#include <functional>
#include <memory>

#include "base/result.h"
#include "lab/kubelet/types.h"

namespace tranche::lab {

class RegistrationServer {
 public:
  struct Request {
    std::string version;
    std::string endpoint;
    std::string resource;
    PluginOptions options;
    // True once the plugin no longer waits for the answer.
    std::function<bool()> cancelled;
  };
  using Handler = std::function<Result<void>(const Request&)>;

  static Result<std::unique_ptr<RegistrationServer>> serve(const std::filesystem::path& socket,
                                                           Handler handler);
  ~RegistrationServer();
  RegistrationServer(const RegistrationServer&) = delete;
  RegistrationServer& operator=(const RegistrationServer&) = delete;

 private:
  struct Impl;
  explicit RegistrationServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Kubelet's checks before it dials: the version and the name, with its texts.
Result<void> check_registration(const RegistrationServer::Request& request);

}  // namespace tranche::lab
