#pragma once
// Makes what the containers of a prepared claim need: MIG instances, the files of each share's
// tenant, the claim's CDI file. Calls are idempotent: after a crash the same call does the rest.
// The caller holds the lock of the claims (ClaimStore).

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "agent/dra/claim_node.h"
#include "agent/instances/instance_maker.h"
#include "base/result.h"
#include "dra/prepared.h"

namespace tranche::agent {

class ClaimMaker {
 public:
  struct Ports {
    // Writes the files of a share's tenant on this node. Existing files stay, unless `renewed`: the
    // limits may have been lowered since.
    std::function<Result<void>(const std::string& tenant, const GrantLimits& limits, bool renewed)>
        add_tenant;
    // A missing tenant is no error.
    std::function<Result<void>(const std::string& tenant)> remove_tenant;
    // null: nobody may change MIG instances here. Those of claims that end stay, with a warning,
    // because the claims' Pods could not end otherwise.
    InstanceMaker* instances;
    std::filesystem::path cdi_root;
    enum class Work { kMakes, kUndoes } work;  // kUndoes: an agent that takes no claims
    const Log& log;
  };

  explicit ClaimMaker(Ports ports) : ports_(std::move(ports)) {}

  using Claims = std::vector<dra::PreparedClaim>;
  // Returns the claim with the UUIDs of its instances. `others`: the claims of the same Pod, and
  // those that share a tenant with it. Its tenants are renewed unless its CDI file exists, which is
  // written last.
  Result<dra::PreparedClaim> make(dra::PreparedClaim claim, const Claims& others,
                                  const ClaimNode& node) const;
  // `node`: null before the first reading of the hardware; then kUnavailable for a claim with
  // instances. Instances of an earlier boot no longer exist. What other claims have stays.
  Result<void> undo(const dra::PreparedClaim& claim, const Claims& others,
                    const ClaimNode* node) const;

 private:
  Result<void> make_tenants(const dra::PreparedClaim& claim, const Claims& others,
                            const ClaimNode& node) const;
  Result<void> undo_tenants(const dra::PreparedClaim& claim, const Claims& others,
                            const ClaimNode* node) const;
  Result<void> write_file(const dra::PreparedClaim& claim, const Claims& all,
                          const gpu::Machine& machine, const ClaimNode& node) const;
  Result<void> renew_files(const dra::PreparedClaim& claim, const Claims& others, const Claims& all,
                           const ClaimNode& node) const;
  Result<void> make_instances(dra::PreparedClaim& claim, gpu::Machine& machine) const;
  Result<void> make_whole(const dra::PreparedClaim& claim, const gpu::Machine& machine) const;
  Result<void> remove_instances(const dra::PreparedClaim& claim, const ClaimNode* node) const;

  const Ports ports_;
};

}  // namespace tranche::agent
