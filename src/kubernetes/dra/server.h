#pragma once
// A driver's two sockets: the one on which kubelet calls it (DRAPlugin v1 and v1beta1, and the
// health of its devices), and the one in kubelet's plugin folder through which kubelet discovers
// it. It serves from its creation on. The destructor removes the second socket first, so that
// kubelet stops calling, and then ends the calls.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "dra/driver.h"
#include "dra/health_board.h"

namespace tranche::dra {

class Server {
 public:
  struct Options {
    std::string driver;                  // "gpu.nvidia.com"
    std::filesystem::path socket;        // <kubelet root>/plugins/<driver>/dra-<instance>.sock
    std::filesystem::path registration;  // <kubelet root>/plugins_registry/<driver>-...-reg.sock
  };
  // Kubelet's answer to the registration: accepted, or why not. Called on a server
  // thread.
  using Registered = std::function<void(Result<void>)>;

  // `driver`, `health` and `log` must outlive it. Creates the socket's own folder if necessary.
  // Errors: see kubelet/socket_server.h.
  static Result<std::unique_ptr<Server>> start(Options options, Driver& driver,
                                               const HealthBoard& health, Registered registered,
                                               const Log& log);
  virtual ~Server() = default;

  // Whether both sockets' files are still those created by this server.
  virtual bool intact() const = 0;
};

}  // namespace tranche::dra
