#pragma once
// The CDI specification of one claim: its own file, created when the claim is prepared and removed
// when it ends. Pure, except for the last two functions.
//
// Runtimes cache devices by name, so names contain the claim's uid and are never reused. Kubelet
// passes each container the names of its devices.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "cdi/driver_files.h"
#include "cdi/spec.h"
#include "cdi/spec_options.h"
#include "gpu/machine.h"
#include "offer/limit_mounts.h"
#include "offer/mps.h"
#include "offer/offer.h"

namespace tranche::cdi {

// The vendor and class of the files, like those of NVIDIA's DRA driver.
inline constexpr std::string_view kClaimKind = "k8s.gpu.nvidia.com/claim";

struct ClaimDevice {
  std::string name;  // of the CDI device
  offer::Device device;
  std::string tenant = {};  // whose limits apply to the container; empty: none
  // The container runtime's hook for containers with limits. nullopt: they have none.
  std::optional<Hook> hook = {};
  // What makes the container a client of an MPS control daemon. nullopt: it is not one.
  std::optional<offer::MpsClient> client = {};
};

struct ClaimFile {
  std::string name;  // "k8s.gpu.nvidia.com-claim-<uid>.json"
  std::string json;
};

// kInvalidArgument: a runtime would refuse the file, or a device has no nodes. `limits`: required
// if a device has a tenant.
Result<ClaimFile> make_claim_file(const std::string& uid, std::span<const ClaimDevice> devices,
                                  const gpu::Machine& machine, const DriverFiles& files,
                                  const SpecOptions& options,
                                  const std::optional<offer::LimitMounts>& limits);

// Writes the file if it differs.
Result<void> write_claim_file(const FsRoot& fs, const std::filesystem::path& folder,
                              const ClaimFile& file);
// A missing file is not an error.
Result<void> remove_claim_file(const FsRoot& fs, const std::filesystem::path& folder,
                               const std::string& uid);
bool has_claim_file(const FsRoot& fs, const std::filesystem::path& folder, const std::string& uid);
// Whether a claim's file contains this text, or one of them cannot be read.
bool is_in_a_claim_file(const FsRoot& fs, const std::filesystem::path& folder,
                        const std::string& text);
// The uids of all claims that have a file; empty if there is no folder.
Result<std::vector<std::string>> claims_with_files(const FsRoot& fs,
                                                   const std::filesystem::path& folder);

}  // namespace tranche::cdi
