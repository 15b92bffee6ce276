#pragma once
// Static SM partitions: the chunks of multiprocessors into which a control daemon divides its GPUs,
// one partition for each tranche. CUDA_MPS_SM_PARTITION assigns a client to a partition. The daemon
// reports the value when it creates the partition, in a form that differs by protocol. A client
// without a partition gets no context. The protocol has the commands (mps/protocol.h). Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mps/daemon.h"

namespace tranche::mps {

// The number of chunks, of `total`, for each of the device's tranches. kFailedPrecondition: there
// are too few; the message says how many there are.
Result<int> chunks_each(const Daemon& daemon, const DaemonDevice& device, int total);

// Extracts the value of CUDA_MPS_SM_PARTITION from the daemon's answer to creating a partition.
std::optional<std::string> partition_of(std::string_view answer, std::string_view uuid);

}  // namespace tranche::mps
