#pragma once
// Static SM partitions: the chunks of multiprocessors that a control daemon cuts its GPUs into, one
// partition for each tranche. A partition is a client's by CUDA_MPS_SM_PARTITION, whose value the
// daemon tells when it makes one (and which says something else with each protocol); a client
// without one gets no context. Its words are the protocol's (mps/protocol.h). Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mps/daemon.h"

namespace tranche::mps {

// How many chunks each of the device's tranches gets of `total`. kFailedPrecondition: there are not
// as many; the message says how many there are.
Result<int> chunks_each(const Daemon& daemon, const DaemonDevice& device, int total);

// Of what the daemon says when it makes a partition: the value of CUDA_MPS_SM_PARTITION.
std::optional<std::string> partition_of(std::string_view answer, std::string_view uuid);

}  // namespace tranche::mps
