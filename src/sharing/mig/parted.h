#pragma once
// The file format of NVIDIA's mig-parted (nvidia-mig-parted, the MIG manager), version v1: named
// layouts, each a list of entries that name the GPUs they apply to.
//
// clang-format off
// Example (YAML):
//     version: v1
//     mig-configs:
//       all-balanced:
//         - device-filter: ["0x20B210DE"]     # optional: a string or a list
//           devices: all                      # or a list of indices
//           mig-enabled: true
//           mig-devices: {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2}
// clang-format on
//
// Entries apply in order, so for a GPU named by two entries the later one wins. GPUs that no entry
// names stay unchanged. Source: mig-parted v0.15.0, api/spec/v1.

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
  // Command lines that mig-parted would run, if the file has hooks; they are reported, not run.
  std::vector<std::string> hooks;
  // Fields that never take effect, each with its line: "file:3: what; what to do".
  std::vector<std::string> warnings;
};

// kInvalidArgument with every error, each with its line; an empty file is an error too.
Result<PartedFile> parse_parted(std::string_view text, std::string_view file_name);

// The wish for each GPU of the machine in the layout called `name`. Omits GPUs that no entry names,
// and GPUs without MIG that should have none or that only `devices: all` names.
//   kNotFound         there is no such layout; the hint lists the existing ones
//   kInvalidArgument  an entry names a GPU index that does not exist, or asks for MIG on such a GPU
//                     that has none; or no entry applies to a GPU of the machine
//   kUnsupported      MIG is wanted on GPUs, and none of them has it
Result<std::map<gpu::GpuUuid, GpuWish>> wishes_of(const PartedFile& file, const std::string& name,
                                                  const gpu::Machine& machine);

// Also true if its MIG state could not be read: reading it again will report why.
bool has_mig(const gpu::Gpu& gpu);

// An error saying that the GPU has no MIG, and how it can be shared instead.
Error without_mig(const gpu::Gpu& gpu, Code code);

// The machine's current layout, as a file with one layout called `name`; identical GPUs share an
// entry. GPUs missing in `layout` are written as without MIG.
PartedFile exported(const gpu::Machine& machine, const Layout& layout, const std::string& name);

// The layouts that NVIDIA's MIG manager generates for the machine by default: all-disabled,
// all-enabled, all-<profile> for every profile, with as many as fit ("all-1g.10gb.me" for
// 1g.10gb+me), and all-balanced. On a machine with several models the entries have filters.
PartedFile default_layouts(const gpu::Machine& machine);

// The text reads back with parse_parted(). Hooks are omitted.
std::string to_yaml(const PartedFile& file);
json::Value to_json(const PartedFile& file);

}  // namespace tranche::mig
