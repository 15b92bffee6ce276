#include "agent/mig/mig_clients.h"

#include <algorithm>
#include <array>

namespace tranche::agent {
namespace {

// The clients that NVIDIA's MIG manager pauses, by the operator's label for each.
constexpr std::array kClients = {"nvidia.com/gpu.deploy.device-plugin",
                                 "nvidia.com/gpu.deploy.gpu-feature-discovery",
                                 "nvidia.com/gpu.deploy.dcgm-exporter",
                                 "nvidia.com/gpu.deploy.dcgm", "nvidia.com/gpu.deploy.nvsm"};

constexpr const char* kDeployed = "true";

bool is_paused_with(const cluster::Pod& pod, const OwnSelector& own) {
  return std::ranges::any_of(kClients, [&](const char* client) {
    return cluster::value_of(pod.node_selector, client) == kDeployed && !own.contains(client);
  });
}

bool is_of_daemon_set(const cluster::Pod& pod) {
  return std::ranges::any_of(
      pod.owners, [](const cluster::OwnerReference& owner) { return owner.kind == "DaemonSet"; });
}

}  // namespace

void pause_clients(bool pause, const cluster::Node& node, const OwnSelector& own,
                   NodeWriter::Values& labels) {
  const std::string from = pause ? kDeployed : kPausedForMig;
  for (const auto* client : kClients) {
    if (own.contains(client) || cluster::value_of(node.labels, client) != from) continue;
    labels[client] = pause ? kPausedForMig : kDeployed;
  }
}

bool has_clients(const cluster::Node& node) {
  return std::ranges::any_of(kClients,
                             [&](const char* client) { return node.labels.contains(client); });
}

std::vector<std::string> clients_left(const std::vector<cluster::Pod>& pods,
                                      const OwnSelector& own) {
  std::vector<std::string> left;
  for (const auto& pod : pods) {
    if (cluster::has_ended(pod) || !is_of_daemon_set(pod) || !is_paused_with(pod, own)) continue;
    left.push_back(pod.ns + '/' + pod.name);
  }
  return left;
}

}  // namespace tranche::agent
