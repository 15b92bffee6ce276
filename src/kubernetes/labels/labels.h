#pragma once
// The feature labels of a node, key by key as NVIDIA's GPU feature discovery writes them, as a pure
// function of hardware and configuration. docs/labels.md explains them to users, labels/reference.h
// lists them, and labels/feature_file.h writes them.
//
// Two differences from NVIDIA's: several GPU models on one node give the labels of the model with
// the lowest index among the GPUs that are not in MIG mode (NVIDIA's: a random one of these). A
// value that Kubernetes would refuse is left out, because one such value makes the API server
// refuse all labels of the node.

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "labels/label_set.h"

namespace tranche::labels {

struct LabelOptions {
  // Unix seconds for nvidia.com/gfd.timestamp: when the configuration took effect, not when the
  // labels were written, so that unchanged labels stay unchanged. nullopt: no timestamp.
  std::optional<std::int64_t> timestamp;
  // Whether MPS is wanted, if `config` does not determine it. nullopt: it does.
  std::optional<bool> mps_wished{};
};

// Without GPUs: only the timestamp and the vGPU labels.
// kFailedPrecondition: a driver version that is not two or three numbers; MPS sharing on a machine
// with a MIG-enabled GPU (NVIDIA's "MPS sharing is not supported for mig devices").
Result<LabelSet> make_labels(const gpu::Machine& machine, const config::Config& config,
                             const LabelOptions& options);

}  // namespace tranche::labels
