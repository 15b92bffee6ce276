#include "agent/gpunode/gpu_node_object.h"

#include <utility>

#include "cluster/kinds.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kLongestCall{10};

cluster::Call call_of(const std::stop_token& stop) {
  return {.deadline = kLongestCall, .stop = stop};
}

bool is_same(const cluster::GpuNode& a, const cluster::GpuNode& b) {
  return a.owners == b.owners && a.status == b.status;
}

}  // namespace

void GpuNodeObject::forget() {
  there_.reset();
  status_.reset();
}

Result<void> GpuNodeObject::read(const std::stop_token& stop) {
  const auto object = objects_.get(cluster::kGpuNode, key_, call_of(stop));
  if (!object) {
    forget();
    if (object.error().code == Code::kNotFound) return {};
    return std::unexpected(object.error());
  }
  // An unreadable GPUNode is written again.
  auto now = cluster::parse_gpu_node(object->json).value_or(cluster::GpuNode{.name = key_.name});
  if (there_ && is_same(*there_, now)) return {};
  // It must be replaced if it belongs to nobody, or to an earlier Node.
  const auto owner = owner_();
  const bool owned = owner && now.owners == std::vector{*owner};
  status_ = owned ? now.status : std::nullopt;
  there_ = std::move(now);
  return {};
}

Result<void> GpuNodeObject::write(const cluster::GpuNodeStatus& status,
                                  const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto owner, owner_());
  if (!there_ || there_->owners != std::vector{owner}) TRY(make(owner, stop));
  auto written = write_status(status, stop);
  if (written || written.error().code != Code::kNotFound) return written;
  TRY(make(owner, stop));
  return write_status(status, stop);
}

Result<void> GpuNodeObject::make(const cluster::OwnerReference& owner,
                                 const std::stop_token& stop) {
  forget();
  const auto text = to_json(cluster::GpuNode{.name = key_.name, .owners = {owner}});
  auto made = objects_.apply(cluster::kGpuNode, key_, {.json = text, .force = true}, call_of(stop));
  if (made) return {};
  auto error = std::move(made).error();
  if (error.code == Code::kNotFound) {
    error.what = "the cluster has no kind " + cluster::kGpuNode.resource();
    error.hint =
        "install its definition with Tranche's chart (gpuNode.installCRD), or stop this "
        "with --gpu-node=false";
  }
  return std::unexpected(std::move(error));
}

Result<void> GpuNodeObject::write_status(const cluster::GpuNodeStatus& status,
                                         const std::stop_token& stop) {
  const auto text = to_json(cluster::GpuNode{.name = key_.name, .status = status});
  auto written =
      objects_.apply(cluster::kGpuNode, key_,
                     {.json = text, .force = true, .subresource = "status"}, call_of(stop));
  if (!written) {
    forget();
    return std::unexpected(std::move(written).error());
  }
  ASSIGN_OR_RETURN(there_, cluster::parse_gpu_node(written->json));
  status_ = status;
  return {};
}

}  // namespace tranche::agent
