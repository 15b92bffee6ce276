#pragma once
// kubelet's pod-resources v1 over its unix socket. One short connection a call; thread-safe.

#include <chrono>
#include <filesystem>

#include "cluster/pod_resources.h"

namespace tranche::kubelet {

class PodResourcesClient final : public cluster::PodResources {
 public:
  // `socket`: <kubelet root>/pod-resources/kubelet.sock
  explicit PodResourcesClient(std::filesystem::path socket,
                              std::chrono::milliseconds deadline = std::chrono::seconds(5))
      : socket_(std::move(socket)), deadline_(deadline) {}

  Result<std::vector<cluster::HeldDevices>> list() override;

 private:
  std::filesystem::path socket_;
  std::chrono::milliseconds deadline_;
};

}  // namespace tranche::kubelet
