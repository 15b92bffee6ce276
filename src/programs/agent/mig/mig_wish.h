#pragma once
// What the Node's label asks of each GPU, and the plan for it. Pure.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/mig/mig_machine.h"
#include "agent/mig/mig_service.h"
#include "base/result.h"
#include "gpu/machine.h"
#include "mig/layout.h"

namespace tranche::agent {

struct MigWish {
  // A checksum of the layout's name and content (MigFacts::wish).
  std::string key;
  // What each GPU of the layout should have. Errors: as mig::parse_parted() and mig::wishes_of().
  Result<std::map<gpu::GpuUuid, mig::GpuWish>> gpus;
  bool is_file_read = true;                // false: the file has no layouts, so the wish is unknown
  std::vector<std::string> warnings = {};  // mig::PartedFile's
};

// `file`: a mig-parted file; nullopt: none. A layout that it lacks is the default of that name for
// this machine.
MigWish read_wish(const std::string& label, const std::optional<std::string>& file,
                  const std::string& file_name, const gpu::Machine& machine);

using HeldInstances = std::map<gpu::GpuUuid, std::vector<mig::Instance>>;

// The necessary changes. `present`: the layout of the wished GPUs. Errors: as mig::target_of().
Result<MigPlan> make_plan(const std::map<gpu::GpuUuid, mig::GpuWish>& wishes,
                          const mig::Layout& present, const gpu::Machine& machine,
                          const HeldInstances& held);

// "MIG mode on of GPU 0, 1 waits for a reset", for the plan's GPUs; empty: none waits.
std::string describe_waiting(const MigPlan& plan, const gpu::Machine& machine);

// What of the plan only a reboot can bring, though it is set already, and what to do. Empty:
// nothing; then the driver is asked. `states`: of the plan's GPUs.
std::string describe_reboot(const MigPlan& plan, const MigStates& states,
                            const gpu::Machine& machine);

bool shows(const gpu::Gpu& gpu, const mig::GpuLayout& layout);

// The GPU as it will be read with this layout, with invented UUIDs.
gpu::Gpu with_layout(gpu::Gpu gpu, const mig::GpuLayout& layout);

}  // namespace tranche::agent
