#pragma once
// What a room of the agent makes its parts from: the adapters to the outside, the loop, and the
// services that rooms share. Made once for each agent, before any part (agent/followers.cpp); it
// outlives them all, so a part may keep references to it and its members. A room includes the
// headers that only it uses.

#include <functional>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/pinned_file.h"
#include "base/result.h"
#include "cluster/pod_resources.h"
#include "config/programs/agent_options.h"
#include "kubelet/registration.h"
#include "process/handover.h"
#include "process/loop.h"

namespace tranche::gpu {
class ProcessReader;    // gpu/process_reader.h
class TelemetryReader;  // gpu/telemetry.h
}  // namespace tranche::gpu

namespace tranche::agent {

class Book;              // agent/holdings/book.h
class ClaimService;      // agent/dra/claim_service.h
class ClusterNode;       // agent/config/cluster_node.h
class GrantStore;        // agent/grants/grant_store.h
class HolderAnswers;     // agent/holdings/holder_answers.h
class MigHardware;       // agent/instances/mig_hardware.h
class PodsOfNode;        // agent/node/pods_of_node.h
class TenantManager;     // agent/limits/tenant_manager.h
struct ConditionReport;  // agent/node/condition_report.h
struct NodeNotice;       // agent/node/node_reporter.h

struct Outside {
  cluster::PodResources& kubelet;
  HolderAnswers& holders;  // kubelet's answers, shared by all rooms
  // Who holds what. Stored grants are entered before any part is made; claims come later
  // (Book::restored()).
  Book& book;
  std::function<Result<void>(const kubelet::Registration&, const PinnedFile& kubelet,
                             const std::stop_token&)>
      register_plugin;
  // `tell` records an Event of the Node; `report` writes a condition of the Node. Empty without a
  // cluster. From any thread.
  std::function<void(const NodeNotice&)> tell = {};
  std::function<void(const ConditionReport&)> report = {};
  ClusterNode* cluster = nullptr;       // null: without a cluster
  PodsOfNode* pods = nullptr;           // null: the Pods of this node may not be read
  MigHardware* mig_hardware = nullptr;  // null: no MIG instance is made or removed here
  // null: no metrics are served.
  gpu::TelemetryReader* telemetry = nullptr;
  gpu::ProcessReader* processes = nullptr;
  config::LabelOutput label_output = config::LabelOutput::kFile;  // of feature labels
};

struct Inherited {
  std::vector<process::NamedDescriptor> connections;  // kubelet's
  std::function<void()> served;  // kubelet has accepted every registration of this agent
};

struct AgentContext {
  const Outside& outside;
  const config::AgentOptions& options;
  process::Loop& loop;
  const Clock& clock;
  const Log& log;

  // From any thread; each takes effect soon after it returns: a new offer is made; the hardware is
  // read at once; kubelet writes its checkpoint.
  std::function<void()> look_again;
  std::function<void()> read_hardware;
  std::function<void()> renew_checkpoint;

  Inherited* inherited = nullptr;  // null: no predecessor

  // The services, each of one room and used by others.
  GrantStore* grants = nullptr;      // null: the stored grants are unreadable, so none is stored
  TenantManager* tenants = nullptr;  // null: where grants is
  ClaimService* claims = nullptr;    // set before any part is made
};

}  // namespace tranche::agent
