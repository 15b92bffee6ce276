#pragma once
// Claims on GPUs that MPS serves: which GPUs these are, whether they are usable, and whose
// containers are clients. Pure. Reasons: docs/decisions/0044-ladder-of-claims.md.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "agent/dra/claim_node.h"
#include "agent/loop/state.h"
#include "dra/prepared.h"
#include "holdings/holding.h"
#include "offer/claim_enforcers.h"
#include "offer/mps.h"

namespace tranche::agent {

// The resources whose MPS control daemons serve GPUs, or will, by GPU UUID.
std::map<std::string, std::string> mps_resources(const offer::ClaimEnforcers& enforcers);

// Why claims cannot use such a GPU now, by UUID: its daemon does not serve, or limits its clients
// differently from what claims need.
std::map<std::string, std::string> mps_troubles(const State& state);

// Whether the device's containers are clients of the daemon that serves it now.
bool is_client(const dra::PreparedDevice& device, const offer::ClaimEnforcers& enforcers);
// Whether the tenant's containers are. It has a part in each of its claims. `claims`: all.
bool is_client(const std::string& tenant, const std::vector<dra::PreparedClaim>& claims,
               const offer::ClaimEnforcers& enforcers);

// What makes the device's containers clients of the daemon that serves it; nullopt: MPS does not
// serve it. `all`: `claim` and the claims that share a tenant with it. The limits cover all GPUs of
// the device's request, because a container gets them together.
std::optional<offer::MpsClient> client_of(const dra::PreparedClaim& claim,
                                          const dra::PreparedDevice& device,
                                          const std::vector<dra::PreparedClaim>& all,
                                          const ClaimNode& node);

// For people: the claims whose containers were made before MPS served their GPU, and those whose
// GPU is no longer served. Empty: none. `held`: what claims hold.
std::string describe_before_mps(std::span<const holdings::Holding> held,
                                const offer::ClaimEnforcers& enforcers);
std::string describe_after_mps(std::span<const holdings::Holding> held,
                               const offer::ClaimEnforcers& enforcers);

}  // namespace tranche::agent
