#pragma once
// The file of NVIDIA's mig-parted (nvidia-mig-parted, the MIG manager), version v1: named layouts,
// each a list of entries that say which GPUs they are for.
//
//     version: v1
//     mig-configs:
//       all-balanced:
//         - device-filter: ["0x20B210DE"]     # optional: a string or a list
//           devices: all                      # or a list of indices
//           mig-enabled: true
//           mig-devices: {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2}
//
// Entries apply in order, so a later one wins for the GPUs that both name. GPUs that none names
// stay as they are. Source: mig-parted v0.15.0, api/spec/v1.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"
#include "gpu/machine.h"
#include "mig/layout.h"
#include "mig/parted_words.h"

namespace tranche::mig {

struct PartedEntry {
  std::vector<DeviceFilter> filters;        // empty: every GPU
  std::optional<std::vector<int>> devices;  // NVML indices; nullopt: all
  GpuWish wish;
  int line = 0;
  bool operator==(const PartedEntry&) const = default;
};

struct PartedFile {
  std::string name = {};  // for messages
  std::map<std::string, std::vector<PartedEntry>> configs;
  // Command lines that mig-parted would run, if the file has hooks; they are named and not run.
  std::vector<std::string> hooks;
  // What is written and never takes effect, each with its line: "file:3: what; what to do".
  std::vector<std::string> warnings;
};

// kInvalidArgument with every error, each with its line; a file that says nothing is one.
Result<PartedFile> parse_parted(std::string_view text, std::string_view file_name);

// What is wished of each GPU of the machine by the layout called `name`; GPUs that no entry names
// lack, and so do GPUs without MIG that shall have none, or that only `devices: all` names.
//   kNotFound         there is no such layout; the hint names those that there are
//   kInvalidArgument  an entry names a GPU by an index that is not there, or asks MIG so of a GPU
//                     that has none; or no entry is for a GPU of the machine
//   kUnsupported      MIG is asked of GPUs, and none of them has it
Result<std::map<gpu::GpuUuid, GpuWish>> wishes_of(const PartedFile& file, const std::string& name,
                                                  const gpu::Machine& machine);

// Also where nobody could read it: who reads it again is told why.
bool has_mig(const gpu::Gpu& gpu);

// Says that the GPU has no MIG, and what shares it instead.
Error without_mig(const gpu::Gpu& gpu, Code code);

// What the machine has, as a file with one layout called `name`; GPUs alike share an entry. GPUs
// that `layout` lacks are written as without MIG.
PartedFile exported(const gpu::Machine& machine, const Layout& layout, const std::string& name);

// The layouts that NVIDIA's MIG manager makes for the machine by default: all-disabled,
// all-enabled, all-<profile> of every profile, with as many as fit ("all-1g.10gb.me" of
// 1g.10gb+me), and all-balanced. On a machine with several models the entries have filters.
PartedFile default_layouts(const gpu::Machine& machine);

// Texts that parse_parted() reads back. Hooks are left out.
std::string to_yaml(const PartedFile& file);
json::Value to_json(const PartedFile& file);

}  // namespace tranche::mig
