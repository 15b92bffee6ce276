#pragma once
// The node agent: one loop that makes a new offer whenever configuration, hardware or health
// changed, and has everything downstream follow it.
//
//     inputs (any thread) ──> mailbox ──> loop: make_offer ──> CDI files, plugins, labels
//
// The loop runs on the thread that calls run() and never waits for hardware, kubelet or the API
// server: readings come from HardwareWatch, XIDs from XidWatch, registration is Registrar's. After
// a first good reading no hardware trouble ends the agent.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/config_source.h"
#include "agent/desired.h"
#include "agent/grant_store.h"
#include "agent/hardware_watch.h"
#include "agent/label_keeper.h"
#include "agent/mailbox.h"
#include "agent/periodic.h"
#include "agent/plugin_set.h"
#include "agent/registrar.h"
#include "agent/xid_watch.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/watch.h"
#include "cluster/pod_resources.h"
#include "gpu/events.h"
#include "gpu/health.h"
#include "gpu/reader.h"

namespace tranche::agent {

class Agent {
 public:
  // The outside, as ports; all outlive the agent.
  struct Ports {
    gpu::Reader& reader;
    gpu::EventSource& events;
    cluster::PodResources& pod_resources;
    Registrar::Attempt register_plugin;
    const Clock& clock;
    const Log& log;
  };
  struct Settings {
    config::AgentOptions options;
    gpu::XidPolicy xid_policy;
  };

  // `source` has been read once: its configuration is the one to start with.
  Agent(Ports ports, Settings settings, ConfigSource source);
  ~Agent();

  // Runs until SIGTERM, SIGINT or SIGQUIT, which the caller has blocked (signals.h) together with
  // SIGHUP: that re-reads everything and registers anew. `signals`: a descriptor from open_signals.
  // Errors: the driver cannot be started and failOnInitError is set; the state folder's lock.
  Result<void> run(int signals);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  Result<void> start();
  void start_watches();
  void loop(int signals);
  bool on_signals(int signals);
  void on_hangup();
  void on_config_change();
  void on_kubelet_folder();
  void on_reading(Result<gpu::Machine> machine);
  void on_links(offer::Links links);
  void take(gpu::Machine machine);
  void reconcile();
  void report(const offer::Offer& offer);
  void prune_grants();
  int poll_timeout() const;
  TimePoint now() const { return ports_.clock.now(); }

  Ports ports_;
  Settings settings_;
  ConfigSource source_;
  gpu::HealthTracker health_;
  std::vector<gpu::GpuUuid> deaf_;
  std::optional<gpu::Machine> machine_;
  std::shared_ptr<const offer::Links> links_;
  std::optional<offer::Offer> offer_;  // the one in force
  std::string complaint_;              // last failure to make an offer that was logged
  std::string reading_complaint_;      // the same for readings

  std::unique_ptr<Mailbox> mailbox_;
  std::unique_ptr<GrantStore> grants_;  // null: the state folder cannot be used
  std::optional<Registrar> registrar_;
  std::optional<PluginSet> plugins_;
  std::optional<CdiKeeper> cdi_;
  std::optional<LabelKeeper> labels_;
  std::optional<Watch> config_watch_;
  std::optional<Watch> kubelet_watch_;
  FileIdentity kubelet_socket_;
  std::optional<HardwareWatch> hardware_;
  std::optional<XidWatch> xids_;
  std::optional<Periodic> pruner_;
};

}  // namespace tranche::agent
