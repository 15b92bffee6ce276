#pragma once
// Kubelet's pod-resources API v1 once more, on a socket of its own: each call is passed on to
// kubelet, and its answer is changed where it is about GPUs (kubelet/gpu_names.h). For programs
// that read from kubelet which Pod has which GPU and know neither replicas, nor renamed resources,
// nor claims, such as NVIDIA's dcgm-exporter. Where kubelet does not answer, a call fails as
// kubelet's does: an empty list would say that nobody has a GPU.
//
// It serves from its creation on; the destructor ends it. Thread-safe.

#include <filesystem>
#include <memory>

#include "base/log.h"
#include "base/result.h"
#include "kubelet/gpu_names.h"

namespace tranche::kubelet {

class PodResourcesProxy {
 public:
  struct Options {
    std::filesystem::path socket;
    std::filesystem::path kubelets;  // kubelet's socket
  };

  // `sources` is called by any thread; with what it refers to and `log` it outlives the proxy.
  // Errors: see kubelet/socket_server.h.
  static Result<std::unique_ptr<PodResourcesProxy>> start(Options options, GpuNameSources sources,
                                                          const Log& log);
  virtual ~PodResourcesProxy() = default;

  // Whether the socket's file is still the one that it made.
  virtual bool intact() const = 0;
};

}  // namespace tranche::kubelet
