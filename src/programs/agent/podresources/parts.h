#pragma once
// Kubelet's pod-resources once more, with GPUs by their UUIDs, with --pod-resources-socket
// (kubelet/pod_resources_proxy.h).

#include "agent/context/parts.h"

namespace tranche::agent {

Parts pod_resources_parts(const AgentContext& context);

}  // namespace tranche::agent
