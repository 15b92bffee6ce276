#pragma once
// Who uses what of a node's GPUs: joins what containers hold (holdings/), the driver's list of
// processes with their owners, and the arbiter's count. Pure.
//
// What a container uses is known if its processes are told apart: by their control groups, or by
// the arbiter. Otherwise it is unknown, never 0. A container without processes uses 0. Containers
// that share a claim have equal parts of what it gives, and all of its limit, which is theirs
// together; the arbiter does not tell them apart. A container that uses a device without a grant
// has mechanism "none", no resource, and no part.

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/metrics/attributed_container.h"
#include "cluster/pod.h"
#include "gpu/machine.h"
#include "gpu/process_reader.h"
#include "gpu/telemetry.h"
#include "holdings/holdings.h"
#include "host/process_owners.h"
#include "limit/arbiter_status.h"
#include "metrics/node_figures.h"
#include "offer/offer.h"

namespace tranche::agent {

struct OwnedProcess {
  gpu::DeviceProcess process;
  host::Owner owner;
  std::string name{};  // of its program; empty: unknown
};

struct AttributionSources {
  const gpu::Machine& machine;
  const offer::Offer& offer;
  const holdings::Holdings& held;      // with their Pods' uids (holdings/users.h)
  std::span<const cluster::Pod> pods;  // of the node; empty: unknown
  // By device: GPUs without MIG, and MIG instances. Missing: not read.
  const std::map<std::string, std::vector<OwnedProcess>>& processes;
  // By GPU. Missing: not read.
  const std::map<std::string, gpu::MemoryFigures>& memory;
  // `held` is as it is now, so whoever is not in it was given nothing.
  bool is_held_known = true;
  const limit::ArbiterStatus* arbiter = nullptr;  // null: it does not run
  // From the reading of processes before to this one; 0: this is the first.
  std::chrono::nanoseconds since_last{0};
};

struct Attribution {
  // Sorted by namespace, Pod, container, device and resource.
  std::vector<AttributedContainer> containers;
  std::vector<usage::ProcessUsage> processes;  // sorted by device and pid
  std::vector<usage::MemoryAccount> memory;    // of GPUs whose memory and processes were read
  std::vector<usage::TrancheCount> tranches;
};

Attribution attribute(const AttributionSources& sources);

}  // namespace tranche::agent
