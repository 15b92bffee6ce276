#pragma once
// A driver's two sockets: the one that kubelet calls it on (DRAPlugin v1 and v1beta1, and the
// health of its devices), and the one in kubelet's folder of plugins by which kubelet comes to know
// it. It serves from its creation on. The destructor takes the second socket away first, so that
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
  // What kubelet answered to the registration: it took it, or why it did not. On a thread of the
  // server.
  using Registered = std::function<void(Result<void>)>;

  // `driver`, `health` and `log` must outlive it. Makes the socket's own folder if need be. Errors:
  // as of kubelet/socket_server.h.
  static Result<std::unique_ptr<Server>> start(Options options, Driver& driver,
                                               const HealthBoard& health, Registered registered,
                                               const Log& log);
  virtual ~Server() = default;

  // Whether both sockets' files are still those that this server made.
  virtual bool intact() const = 0;
};

}  // namespace tranche::dra
