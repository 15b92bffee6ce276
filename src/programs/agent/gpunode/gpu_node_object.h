#pragma once
// This node's GPUNode at the API server: reads it, and writes it by server-side apply. The object
// belongs to the Node, and goes with it.
//
// Only the agent owns it, so fields that somebody else took over are taken back: an edit by hand
// must not stop the status for ever.

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "cluster/formats/gpu_node.h"
#include "cluster/objects.h"

namespace tranche::agent {

class GpuNodeObject {
 public:
  // The Node. An error: not known yet.
  using Owner = std::function<Result<cluster::OwnerReference>()>;
  // Used by one thread.
  GpuNodeObject(cluster::Objects& objects, std::string node, Owner owner)
      : objects_(objects), key_{"", std::move(node)}, owner_(std::move(owner)) {}

  // Reads the object. Until then, and after an error, nothing is known.
  Result<void> read(const std::stop_token& stop);
  // kNotFound: the cluster does not have the kind.
  Result<void> write(const cluster::GpuNodeStatus& status, const std::stop_token& stop);
  // The status last written or read, if nobody is known to have changed it since.
  const std::optional<cluster::GpuNodeStatus>& status() const { return status_; }
  const std::string& name() const { return key_.name; }

 private:
  Result<void> make(const cluster::OwnerReference& owner, const std::stop_token& stop);
  Result<void> write_status(const cluster::GpuNodeStatus& status, const std::stop_token& stop);
  void forget();

  cluster::Objects& objects_;
  const cluster::ObjectKey key_;
  const Owner owner_;
  // As the API server has it: an older definition drops unknown fields.
  std::optional<cluster::GpuNode> there_;
  std::optional<cluster::GpuNodeStatus> status_;
};

}  // namespace tranche::agent
