#pragma once
// A client of kubelet's pod-resources API v1 on its unix socket, and a reader of the checkpoint in
// its device-plugins folder. Each call makes one short connection. Thread-safe.

#include <chrono>
#include <filesystem>
#include <string>

#include "cluster/pod_resources.h"
#include "kubelet/checkpoint.h"

namespace tranche::kubelet {

class PodResourcesClient final : public cluster::PodResources {
 public:
  // The socket is <kubelet root>/pod-resources/kubelet.sock.
  explicit PodResourcesClient(const std::filesystem::path& kubelet_root,
                              std::chrono::milliseconds deadline = std::chrono::seconds(5))
      : socket_(kubelet_root / "pod-resources" / "kubelet.sock"),
        checkpoint_(kubelet_root / "device-plugins" / kCheckpointName),
        deadline_(deadline) {}

  bool is_there() const override;
  Result<cluster::ListedHolders> list() override;
  Result<std::vector<cluster::HeldDevices>> remembered() override;
  Result<cluster::AllocatableDevices> allocatable() override;

 private:
  std::filesystem::path socket_;
  std::filesystem::path checkpoint_;
  std::chrono::milliseconds deadline_;
};

}  // namespace tranche::kubelet
