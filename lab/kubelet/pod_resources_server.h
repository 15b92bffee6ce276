#pragma once
// The pod-resources service (v1): which container holds which devices. As in kubelet, every device
// is an entry of its own, once per NUMA node, so one resource appears many times in a container;
// the containers of a pod that ran to their end (init containers) are not listed.
//
// Serves from construction until destruction. The sources are called on gRPC's threads.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "lab/kubelet/ledger.h"
#include "lab/kubelet/types.h"

namespace tranche::lab {

class PodResourcesServer {
 public:
  struct Snapshot {
    std::vector<Ledger::Entry> pods;
    // Resource -> all its devices.
    std::map<std::string, std::vector<Device>> devices;
  };
  using Source = std::function<Snapshot()>;

  static Result<std::unique_ptr<PodResourcesServer>> serve(const std::filesystem::path& socket,
                                                           Source source);
  ~PodResourcesServer();
  PodResourcesServer(const PodResourcesServer&) = delete;
  PodResourcesServer& operator=(const PodResourcesServer&) = delete;

 private:
  struct Impl;
  explicit PodResourcesServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tranche::lab
