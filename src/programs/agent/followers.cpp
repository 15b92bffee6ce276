#include "agent/followers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/config/parts.h"
#include "agent/dra/parts.h"
#include "agent/gpunode/parts.h"
#include "agent/grants/open_grants.h"
#include "agent/health/parts.h"
#include "agent/incidents/parts.h"
#include "agent/labels/parts.h"
#include "agent/limits/parts.h"
#include "agent/metrics/parts.h"
#include "agent/mig/parts.h"
#include "agent/mps/parts.h"
#include "agent/notices/parts.h"
#include "agent/plugins/parts.h"
#include "agent/podresources/parts.h"
#include "agent/withholding/parts.h"

namespace tranche::agent {
namespace {

// Inputs and stages run in this order, and each may use what those before it have put into the
// State or the offer. So do the followers of one phase.
constexpr Parts (*kRooms[])(const AgentContext&) = {
    config_parts,         // whether the node gives out its GPUs by the device plugin or by claims
    plugins_parts,        // CDI files, device plugins, whether kubelet offers what they offer
    limits_parts,         // limits of containers
    mps_parts,            // MPS control daemons
    withholding_parts,    // what containers hold differently from the present offer
    dra_parts,            // the DRA driver
    mig_parts,            // changes of the MIG layout
    health_parts,         // unhealthy GPUs
    gpunode_parts,        // the node's GPUNode
    incidents_parts,      // refused memory, stalls, XIDs: who and why
    metrics_parts,        // who uses what, at /metrics
    pod_resources_parts,  // pod-resources for others, with GPUs' UUIDs
    notices_parts,        // reports about the offer
    labels_parts,         // feature labels
};

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  std::ranges::move(from, std::back_inserter(to));
}

void append(Parts& to, Parts from) {
  append(to.inputs, std::move(from.inputs));
  append(to.stages, std::move(from.stages));
  append(to.followers, std::move(from.followers));
}

}  // namespace

Followers::Followers(AgentContext context, Parts more) : context_(std::move(context)) {
  grants_ = open_grants(context_);
  context_.grants = grants_.get();
  tenants_ = make_tenants(context_);
  context_.tenants = tenants_.get();
  claims_ = make_claims(context_);
  context_.claims = claims_.get();
  for (const auto make : kRooms) append(parts_, make(context_));
  append(parts_, std::move(more));
  std::ranges::stable_sort(parts_.followers, {}, [](const auto& one) { return one->phase(); });
}

Followers::~Followers() = default;

}  // namespace tranche::agent
