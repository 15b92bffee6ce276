#pragma once
// What the Node's label asks of each GPU, and the plan that meets it. Pure.

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
  // What each GPU that the layout names is to have. Errors: those of mig::parse_parted() and
  // mig::wishes_of().
  Result<std::map<gpu::GpuUuid, mig::GpuWish>> gpus;
  bool is_file_read = true;  // false: the file is none of layouts, so nobody knows what it asks for
  std::vector<std::string> warnings = {};  // mig::PartedFile's
};

// `file`: a mig-parted file; nullopt: none is given. A layout that the file lacks is the one of
// that name that the tables give for this machine.
MigWish read_wish(const std::string& label, const std::optional<std::string>& file,
                  const std::string& file_name, const gpu::Machine& machine);

// GPU instances that containers hold, by GPU.
using HeldInstances = std::map<gpu::GpuUuid, std::vector<mig::Instance>>;

// What must change. `present`: the layout of the wished GPUs. Errors: those of mig::target_of().
Result<MigPlan> make_plan(const std::map<gpu::GpuUuid, mig::GpuWish>& wishes,
                          const mig::Layout& present, const gpu::Machine& machine,
                          const HeldInstances& held);

// "MIG mode on of GPU 0, 1 waits for a reset": of the GPUs of the plan. Empty: none waits.
std::string describe_waiting(const MigPlan& plan, const gpu::Machine& machine);

// What of the plan only a reboot can bring, though somebody has set it already, and what to do.
// Empty: nothing; then the driver is asked. `states`: of the plan's GPUs.
std::string describe_reboot(const MigPlan& plan, const MigStates& states,
                            const gpu::Machine& machine);

// Whether the driver's list of the GPU's devices is that of the layout.
bool shows(const gpu::Gpu& gpu, const mig::GpuLayout& layout);

// The GPU as it will be read with that layout. UUIDs are made up.
gpu::Gpu with_layout(gpu::Gpu gpu, const mig::GpuLayout& layout);

}  // namespace tranche::agent
