#pragma once
// Builders of gpu::Machine values for tests: hardware in the words of the domain.
//
//   const gpu::Machine machine = machine_of({l20(0)});
//   const gpu::Machine mixed = machine_of({a100_40gb(0).mig({"1g.5gb", "2g.10gb"}), t4(1).lost()});
//
// Every value is fixed by the arguments, so tests can write what they expect: the UUID of GPU i is
// gpu_uuid(i), that of its MIG slot s is mig_uuid(i, s), its NUMA node is 0 unless set.

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "gpu/machine.h"

namespace tranche::test {

inline std::string gpu_uuid(int index) {
  return fmt::format("GPU-00000000-0000-0000-0000-{:012d}", index);
}
inline std::string mig_uuid(int gpu_index, int slot) {
  return fmt::format("MIG-00000000-0000-0000-{:04d}-{:012d}", gpu_index, slot);
}

// "3g.20gb" -> {3, 3}, "1c.2g.10gb" -> {2, 1}: the number of slices is read off the name.
inline gpu::MigProfile profile(const std::string& name) {
  gpu::MigProfile out;
  out.name = name;
  const std::size_t partial = name.find("c.");
  const std::string gpu_part = partial == std::string::npos ? name : name.substr(partial + 2);
  out.gpu_slices = std::atoi(gpu_part.c_str());
  out.compute_slices = partial == std::string::npos ? out.gpu_slices : std::atoi(name.c_str());
  return out;
}

// Nominal attributes of a profile on an A100: 14 multiprocessors a compute slice, the memory that
// the name says. Real drivers report a little less memory.
inline gpu::MigAttributes attributes(const gpu::MigProfile& shape) {
  gpu::MigAttributes out;
  const std::size_t dot = shape.name.rfind("g.");
  const std::string memory = shape.name.substr(dot == std::string::npos ? 0 : dot + 2);
  out.memory = Bytes::from_mib(static_cast<std::uint64_t>(std::atoi(memory.c_str())) * 1024);
  out.multiprocessors = 14 * shape.compute_slices;
  out.copy_engines = shape.gpu_slices;
  const bool media = shape.name.ends_with("+me");
  out.decoders = media ? 1 : shape.gpu_slices / 2;
  out.jpeg_engines = media ? 1 : 0;
  out.ofa_engines = media ? 1 : 0;
  return out;
}

class GpuBuilder {
 public:
  GpuBuilder(int index, std::string name, std::uint64_t memory_mib,
             gpu::ComputeCapability capability) {
    gpu_.index = index;
    gpu_.uuid = {gpu_uuid(index)};
    gpu_.name = std::move(name);
    gpu_.minor = index;
    gpu_.pci = {0, static_cast<std::uint32_t>(0x10 + index), 0, 0};
    gpu_.memory = Bytes::from_mib(memory_mib);
    gpu_.compute_capability = capability;
    gpu_.numa_node = 0;
  }

  GpuBuilder& uuid(std::string value) { return gpu_.uuid = {std::move(value)}, *this; }
  GpuBuilder& name(std::string value) { return gpu_.name = std::move(value), *this; }
  GpuBuilder& minor(int value) { return gpu_.minor = value, *this; }
  GpuBuilder& numa(std::optional<int> node) { return gpu_.numa_node = node, *this; }
  GpuBuilder& memory_mib(std::uint64_t mib) { return gpu_.memory = Bytes::from_mib(mib), *this; }
  // The part of its memory that the driver keeps; by default nothing.
  GpuBuilder& reserved_mib(std::uint64_t mib) {
    return gpu_.reserved = Bytes::from_mib(mib), *this;
  }
  GpuBuilder& fabric(std::string cluster, std::uint32_t clique) {
    return gpu_.fabric = {std::move(cluster), clique}, *this;
  }
  GpuBuilder& mig_capable() { return gpu_.mig_mode = gpu::MigMode::kDisabled, *this; }

  // MIG on, with one instance per profile name in slots 0, 1, ...; none: enabled and empty.
  GpuBuilder& mig(const std::vector<std::string>& profiles = {}) {
    gpu_.mig_mode = gpu::MigMode::kEnabled;
    gpu_.mig_instances.clear();
    for (const std::string& name : profiles) instance(name);
    return *this;
  }
  // One more instance, in the next slot. Its GPU instance id is slot + 1, its compute instance id
  // 0; its capability files are nvidia-cap<100 * index + 10 * slot + 1> and the one after.
  GpuBuilder& instance(const std::string& profile_name) {
    const int slot = static_cast<int>(gpu_.mig_instances.size());
    const int cap = 100 * gpu_.index + 10 * slot + 1;
    gpu::MigInstance instance;
    instance.uuid = {mig_uuid(gpu_.index, slot)};
    instance.slot = slot;
    instance.gpu_instance_id = slot + 1;
    instance.profile = profile(profile_name);
    instance.attributes = attributes(instance.profile);
    instance.gpu_instance_cap = cap;
    instance.compute_instance_cap = cap + 1;
    gpu_.mig_instances.push_back(std::move(instance));
    return *this;
  }

  GpuBuilder& lost(std::string reason = "GPU is lost") {
    return gpu_.presence = gpu::Presence::kLost, gpu_.presence_reason = std::move(reason), *this;
  }
  GpuBuilder& unknown(std::string reason = "no answer within 5 s") {
    return gpu_.presence = gpu::Presence::kUnknown, gpu_.presence_reason = std::move(reason), *this;
  }

  gpu::Gpu build() const { return gpu_; }

 private:
  gpu::Gpu gpu_;
};

inline GpuBuilder l20(int index) { return {index, "NVIDIA L20", 46068, {8, 9}}; }
inline GpuBuilder t4(int index) { return {index, "Tesla T4", 15360, {7, 5}}; }
inline GpuBuilder a100_40gb(int index) {
  return GpuBuilder(index, "NVIDIA A100-SXM4-40GB", 40960, {8, 0}).mig_capable();
}
inline GpuBuilder a100_80gb(int index) {
  return GpuBuilder(index, "NVIDIA A100-SXM4-80GB", 81920, {8, 0}).mig_capable();
}
inline GpuBuilder h100(int index) {
  return GpuBuilder(index, "NVIDIA H100 80GB HBM3", 81559, {9, 0}).mig_capable();
}
inline GpuBuilder dgx_display(int index) { return {index, "NVIDIA DGX Display", 4096, {7, 5}}; }

inline gpu::Machine machine_of(const std::vector<GpuBuilder>& gpus) {
  gpu::Machine machine;
  machine.driver_version = "570.158.01";
  machine.cuda_driver_version = 12080;
  for (const GpuBuilder& gpu : gpus) {
    machine.gpus.push_back(gpu.build());
    machine.host.display_classes[machine.gpus.back().pci] = 0x030200;
  }
  return machine;
}
// `count` GPUs of one make, indices 0 to count - 1: machine_of(8, a100_40gb).
inline gpu::Machine machine_of(int count, GpuBuilder (*make)(int)) {
  std::vector<GpuBuilder> gpus;
  for (int index = 0; index < count; ++index) gpus.push_back(make(index));
  return machine_of(gpus);
}

// Links of `gpus` GPUs in islands of `island`: `nvlinks` and a shared switch within an island,
// across CPUs between them.
inline gpu::Topology islands(std::size_t gpus, std::size_t island, int nvlinks = 0) {
  gpu::Topology topology(gpus);
  for (std::size_t a = 0; a < gpus; ++a) {
    for (std::size_t b = a + 1; b < gpus; ++b) {
      const bool together = a / island == b / island;
      topology.set(a, b,
                   together ? gpu::Link{gpu::P2pLevel::kSingleSwitch, nvlinks}
                            : gpu::Link{gpu::P2pLevel::kSystem, 0});
    }
  }
  return topology;
}

}  // namespace tranche::test
