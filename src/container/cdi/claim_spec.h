#pragma once
// The CDI specification of one claim: a file of its own, made when the claim is prepared and
// removed when it ends. Pure, but for the last two functions.
//
// Runtimes keep what they read by the device's name, so names hold the claim's uid and are never
// used twice. Kubelet hands each container the names of the devices that it may use.

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

// The vendor and class of the files, as of NVIDIA's DRA driver.
inline constexpr std::string_view kClaimKind = "k8s.gpu.nvidia.com/claim";

struct ClaimDevice {
  std::string name;  // of the CDI device
  offer::Device device;
  std::string tenant = {};  // whose limits the container has; empty: none
  // The container runtime's hook of containers with limits. nullopt: they have none.
  std::optional<Hook> hook = {};
  // What makes the container a client of an MPS control daemon. nullopt: it is of none.
  std::optional<offer::MpsClient> client = {};
};

struct ClaimFile {
  std::string name;  // "k8s.gpu.nvidia.com-claim-<uid>.json"
  std::string json;
};

// kInvalidArgument: a runtime would refuse the file, or a device has no nodes. `limits`: needed
// where a device has a tenant.
Result<ClaimFile> make_claim_file(const std::string& uid, std::span<const ClaimDevice> devices,
                                  const gpu::Machine& machine, const DriverFiles& files,
                                  const SpecOptions& options,
                                  const std::optional<offer::LimitMounts>& limits);

// Writes the file if it differs.
Result<void> write_claim_file(const FsRoot& fs, const std::filesystem::path& folder,
                              const ClaimFile& file);
// It is no error if there is none.
Result<void> remove_claim_file(const FsRoot& fs, const std::filesystem::path& folder,
                               const std::string& uid);
bool has_claim_file(const FsRoot& fs, const std::filesystem::path& folder, const std::string& uid);
// Whether a claim's file has this text, or one of them cannot be read.
bool is_in_a_claim_file(const FsRoot& fs, const std::filesystem::path& folder,
                        const std::string& text);
// The uids of all claims that have a file; empty where there is no folder.
Result<std::vector<std::string>> claims_with_files(const FsRoot& fs,
                                                   const std::filesystem::path& folder);

}  // namespace tranche::cdi
