#include "cli/limit/promises.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::cli {
namespace {

bool is_of(const cluster::GpuNodeHolding& holding, const cluster::Pod& pod) {
  const bool is_same = holding.pod_uid.empty() || holding.pod_uid == pod.uid;
  return is_same && holding.ns == pod.ns && holding.pod == pod.name && !holding.container.empty() &&
         !holding.resource.empty();
}

Promise& promise_of(const cluster::GpuNodeHolding& holding, std::vector<Promise>& all) {
  const auto found = std::ranges::find_if(all, [&](const Promise& one) {
    return one.container == holding.container && one.resource == holding.resource;
  });
  if (found != all.end()) return *found;
  return all.emplace_back(Promise{.container = holding.container, .resource = holding.resource});
}

// Several tranches of one device are one part, the container's.
void add(const cluster::GpuNodeHolding& holding, std::vector<Promise>& all) {
  auto& parts = promise_of(holding, all).parts;
  Promise::Part part{.device = holding.device, .part = holding.part};
  if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
}

}  // namespace

Promises read_promises(cluster::Objects& objects, const cluster::Pod& pod,
                       const cluster::Call& call) {
  const auto object = objects.get(cluster::kGpuNode, {.ns = "", .name = pod.node}, call);
  if (!object) return {.trouble = object.error().message()};
  const auto read = cluster::parse_gpu_node(object->json);
  if (!read) return {.trouble = read.error().message()};
  if (!read->status) return {.trouble = fmt::format("GPUNode {} says nothing yet", pod.node)};
  Promises promises;
  for (const auto& holding : read->status->holdings) {
    if (is_of(holding, pod)) add(holding, promises.all);
  }
  return promises;
}

}  // namespace tranche::cli
