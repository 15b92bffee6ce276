#pragma once
// A client of kubelet's pod-resources API v1 on its unix socket. Each call makes one short
// connection. Thread-safe.

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
