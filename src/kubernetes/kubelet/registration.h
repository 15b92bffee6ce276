#pragma once
// Registers a device plugin with kubelet (device plugin API v1beta1, service Registration).

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>

#include "base/pinned_file.h"
#include "base/result.h"

namespace tranche::kubelet {

struct Registration {
  // For messages: /var/lib/kubelet/device-plugins/kubelet.sock.
  std::filesystem::path kubelet_socket;
  std::string endpoint;  // socket file name next to it: "nvidia-gpu.sock"
  std::string resource;  // "nvidia.com/gpu"
  bool operator==(const Registration&) const = default;
};

// Makes one attempt, only with the kubelet that listens on `kubelet`, not with a successor.
// kUnavailable: kubelet is down; kTimeout: it does not answer within `deadline`;
// kFailedPrecondition: it refused (with its message), or `stop` was requested.
Result<void> register_plugin(const Registration& registration, const PinnedFile& kubelet,
                             const std::stop_token& stop = {},
                             std::chrono::milliseconds deadline = std::chrono::seconds(5));

}  // namespace tranche::kubelet
