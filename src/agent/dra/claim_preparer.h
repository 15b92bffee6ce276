#pragma once
// Prepares claims on this node: plans what a claim gets, stores that, then makes what its
// containers need (the files of each share's tenant, the claim's CDI file). Undoing goes the other
// way round, so after a crash between any two steps the same call does the rest.
//
// Called by the threads of dra/server.h. One claim at a time: a call waits for files of this node,
// and for one GET of the API server.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/dra/claim_store.h"
#include "base/log.h"
#include "cdi/driver_files.h"
#include "cdi/spec_options.h"
#include "cluster/objects.h"
#include "dra/claim_plan.h"
#include "dra/driver.h"
#include "gpu/machine.h"
#include "offer/limit_mounts.h"

namespace tranche::agent {

// What the agent knows of the node now.
struct ClaimNode {
  gpu::Machine machine;
  cdi::DriverFiles files;
  cdi::SpecOptions options;
  std::optional<offer::LimitMounts> limits;  // nullopt: containers cannot be limited here
  dra::PlanFacts facts;
};

class ClaimPreparer final : public dra::Driver {
 public:
  struct Ports {
    cluster::Objects& objects;
    ClaimStore& store;
    // null: the hardware has not answered yet.
    std::function<std::shared_ptr<const ClaimNode>()> node;
    // The files of a share's tenant, on this node. Of a tenant that is there they stay as they are.
    std::function<Result<void>(const std::string& tenant, const GrantLimits& limits)> add_tenant;
    // It is no error if there is none.
    std::function<Result<void>(const std::string& tenant)> remove_tenant;
    std::filesystem::path cdi_root;
    const Log& log;
  };
  explicit ClaimPreparer(Ports ports) : ports_(std::move(ports)) {}

  Result<dra::PreparedClaim> prepare(const dra::ClaimName& name) override;
  Result<void> unprepare(const dra::ClaimName& name) override;

  // After a start: what was prepared before a reboot is undone, for its containers are gone, and
  // CDI files of claims that nobody knows are removed.
  Result<void> restore();

 private:
  Result<dra::PreparedClaim> plan(const dra::ClaimName& name, const ClaimNode& node) const;
  Result<void> make(const dra::PreparedClaim& claim, const ClaimNode& node) const;
  Result<void> undo(ClaimStore::Locked& store, const dra::PreparedClaim& claim) const;

  const Ports ports_;
};

}  // namespace tranche::agent
