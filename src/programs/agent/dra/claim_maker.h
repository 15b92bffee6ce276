#pragma once
// Makes what the containers of a prepared claim need: MIG instances, the files of each share's
// tenant, the claim's CDI file. Each call does what is left of it, so after a crash between any two
// steps the same call goes on. The caller holds the lock of the claims (ClaimStore).

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
    // The files of a share's tenant, on this node. Of a tenant that is there they stay as they are,
    // unless it is `renewed`: its limits may have been lowered since.
    std::function<Result<void>(const std::string& tenant, const GrantLimits& limits, bool renewed)>
        add_tenant;
    // It is no error if there is none.
    std::function<Result<void>(const std::string& tenant)> remove_tenant;
    InstanceMaker* instances;  // null: nobody may change MIG instances here
    std::filesystem::path cdi_root;
  };

  explicit ClaimMaker(Ports ports) : ports_(std::move(ports)) {}

  using Claims = std::vector<dra::PreparedClaim>;
  // The claim with the UUIDs of the instances that were made. `others`: those
  // that have a tenant together with it, and those of its Pod. Its tenants are renewed unless it
  // was made before: its CDI file, which comes last, says so.
  Result<dra::PreparedClaim> make(dra::PreparedClaim claim, const Claims& others,
                                  const ClaimNode& node) const;
  // `node`: null where the hardware has not answered yet; kUnavailable for a claim with instances
  // then. Instances of another boot are gone by themselves. What the others have stays.
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
