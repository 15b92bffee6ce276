#include "agent/podresources/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/holdings/book.h"
#include "agent/node/pods_of_node.h"
#include "agent/podresources/claimed_gpus.h"
#include "base/said_once.h"
#include "kubelet/pod_resources_proxy.h"
#include "process/periodic.h"

namespace tranche::agent {
namespace {

// Serves, and serves again where the socket is gone.
class ProxyFollower final : public Follower {
 public:
  static constexpr std::chrono::seconds kKeepEvery{5};

  ProxyFollower(kubelet::PodResourcesProxy::Options options, kubelet::GpuNameSources sources,
                const Log& log)
      : options_(std::move(options)), sources_(std::move(sources)), log_(log) {
    keeps_.emplace(kKeepEvery, [this] { keep(); });
  }

  Result<void> follow(const Round& /*round*/) override { return {}; }
  // The next agent serves on the same socket.
  void rest() override { end(); }
  void finish() override { end(); }

 private:
  void keep() {
    if (proxy_ != nullptr && proxy_->intact()) return;
    proxy_.reset();
    auto started = kubelet::PodResourcesProxy::start(options_, sources_, log_);
    if (!started) {
      const auto text = started.error().message();
      if (said_.is_news("socket", text)) {
        log_.warn(fmt::format("pod-resources with GPUs' UUIDs are not served: {}", text));
      }
      return;
    }
    said_.forget("socket");
    proxy_ = *std::move(started);
    log_.info(
        fmt::format("pod-resources with GPUs' UUIDs are served on {}", options_.socket.string()));
  }
  void end() {
    keeps_.reset();
    proxy_.reset();
  }

  const kubelet::PodResourcesProxy::Options options_;
  const kubelet::GpuNameSources sources_;
  const Log& log_;
  SaidOnce said_;
  std::unique_ptr<kubelet::PodResourcesProxy> proxy_;  // of the keeping thread, and of end()
  std::optional<process::Periodic> keeps_;
};

kubelet::GpuNameSources sources_of(const AgentContext& context) {
  auto& book = context.outside.book;
  return {.claimed =
              [&book](const cluster::ObjectKey& claim, const kubelet::AllocatedDevice& device) {
                return claimed_gpus(book.all(), claim, device);
              },
          .has_ended =
              [pods = context.outside.pods](const std::string& ns, const std::string& name) {
                const auto all = pods == nullptr ? nullptr : pods->shared();
                return all != nullptr && std::ranges::any_of(*all, [&](const auto& pod) {
                         return pod.ns == ns && pod.name == name && cluster::has_ended(pod);
                       });
              }};
}

}  // namespace

Parts pod_resources_parts(const AgentContext& context) {
  Parts parts;
  const auto& socket = context.options.pod_resources_socket;
  if (socket.empty()) return parts;
  const std::filesystem::path root = context.options.kubelet_root;
  parts.followers.push_back(std::make_unique<ProxyFollower>(
      kubelet::PodResourcesProxy::Options{.socket = socket,
                                          .kubelets = root / "pod-resources" / "kubelet.sock"},
      sources_of(context), context.log));
  return parts;
}

}  // namespace tranche::agent
