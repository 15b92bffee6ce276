#pragma once
// Claims on GPUs that MPS serves: which GPUs those are, whether they can be used now, and whose
// containers are clients. Pure. Why so: docs/decisions/0044-ladder-of-claims.md.

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

// The resources whose MPS control daemons serve GPUs, or are to, by the GPUs' UUIDs.
std::map<std::string, std::string> mps_resources(const offer::ClaimEnforcers& enforcers);

// Why such a GPU cannot be used by claims now, by its UUID: its daemon does not serve, or has other
// limits for its clients than claims need.
std::map<std::string, std::string> mps_troubles(const State& state);

// Whether the containers of the device are clients of the daemon that serves it now.
bool is_client(const dra::PreparedDevice& device, const offer::ClaimEnforcers& enforcers);
// Whether the containers of a tenant are, which has a part in each of its claims. `claims`: all.
bool is_client(const std::string& tenant, const std::vector<dra::PreparedClaim>& claims,
               const offer::ClaimEnforcers& enforcers);

// What makes the containers of the device clients of the daemon that serves it; nullopt: MPS does
// not serve it. `all`: the claims that have a tenant together with `claim`, and itself. It says
// what the containers may use of all GPUs of the device's request, for a container has them
// together.
std::optional<offer::MpsClient> client_of(const dra::PreparedClaim& claim,
                                          const dra::PreparedDevice& device,
                                          const std::vector<dra::PreparedClaim>& all,
                                          const ClaimNode& node);

// For people: the claims whose containers were made before MPS served their GPU, and those whose
// daemon serves it no longer. Empty: none. `held`: what claims hold.
std::string describe_before_mps(std::span<const holdings::Holding> held,
                                const offer::ClaimEnforcers& enforcers);
std::string describe_after_mps(std::span<const holdings::Holding> held,
                               const offer::ClaimEnforcers& enforcers);

}  // namespace tranche::agent
