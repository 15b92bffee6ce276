#pragma once
// The devices of one GPU, for dra/pool.h. Attributes and capacities have the names of NVIDIA's DRA
// driver. Pure.

#include <initializer_list>
#include <string>
#include <vector>

#include "cluster/resource_slice.h"
#include "dra/pool_facts.h"
#include "gpu/machine.h"

namespace tranche::dra {

class GpuDevices {
 public:
  // The references must outlive it.
  GpuDevices(const gpu::Machine& machine, const gpu::Gpu& gpu, const PoolFacts& facts)
      : machine_(machine), gpu_(gpu), facts_(facts) {}

  // Whether it can be allocated whole. Not in MIG mode, unless its mode changes without a reset.
  bool has_whole() const;
  // Whether instances are created for claims. If a mode change needs a reset, only if the mode is
  // already on.
  bool partitions() const;

  cluster::SliceDevice whole() const;
  // The same GPU for requests with adminAccess, which the scheduler refuses a shareable or divided
  // device in use.
  cluster::SliceDevice for_admins() const;
  // The places where instances may be created: small profiles before large ones, and of each
  // profile the places at the end first, where fewer large profiles could start.
  std::vector<cluster::SliceDevice> places() const;
  // The instances of a GPU without places.
  std::vector<cluster::SliceDevice> existing() const;

 private:
  void put_common(cluster::SliceDevice& device) const;
  void put_share(cluster::SliceDevice& device) const;
  // Adds the multiprocessors of the largest MIG profile, if known.
  void put_multiprocessors(cluster::SliceDevice& device) const;
  // Adds the GPU's total if the capacity is less.
  void put_total(cluster::SliceDevice& device) const;
  std::vector<cluster::DeviceTaint> taints(std::initializer_list<std::string> uuids) const;
  cluster::SliceDevice place(const gpu::GpuInstanceProfile& profile, int start) const;
  cluster::SliceDevice existing(const gpu::MigInstance& instance) const;

  const gpu::Machine& machine_;
  const gpu::Gpu& gpu_;
  const PoolFacts& facts_;
};

}  // namespace tranche::dra
