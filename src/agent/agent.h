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
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/config/config_source.h"
#include "agent/hardware/hardware_watch.h"
#include "agent/hardware/xid_watch.h"
#include "agent/labels/label_publisher.h"
#include "agent/labels/label_sink.h"
#include "agent/limits/finding_notices.h"
#include "agent/limits/limit_overrides.h"
#include "agent/limits/tenant_manager.h"
#include "agent/node/node_reporter.h"
#include "agent/node/status_file.h"
#include "agent/plugins/cdi_publisher.h"
#include "agent/plugins/desired.h"
#include "agent/plugins/grant_store.h"
#include "agent/plugins/plugin_set.h"
#include "agent/plugins/registrar.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pinned_file.h"
#include "base/watch.h"
#include "cluster/pod_resources.h"
#include "gpu/events.h"
#include "gpu/health.h"
#include "gpu/reader.h"
#include "process/change_notifier.h"
#include "process/mailbox.h"
#include "process/periodic.h"
#include "process/process_lock.h"

namespace tranche::agent {

class Agent {
 public:
  // The outside, as ports; all outlive the agent.
  struct Ports {
    gpu::Reader& reader;
    gpu::EventSource& events;
    cluster::PodResources& pod_resources;
    // One attempt to register with the kubelet that listens on the pinned socket.
    std::function<Result<void>(const Registrar::Request&, const PinnedFile& kubelet,
                               const std::stop_token&)>
        register_plugin;
    const Clock& clock;
    const Log& log;
    // Of a cluster; without one: null, and nobody is told.
    process::ChangeNotifier* notifier =
        nullptr;                  // notified when `source` or the node may say something new
    LabelSink* labels = nullptr;  // null: the file
    std::function<void(const ConfigReport&)> report = {};
    std::function<void(const NodeNotice&)> tell = {};
    std::function<void(EvictPolicy)> evict = {};
    LimitOverrides* settings = nullptr;  // null: nothing is set by anybody
  };
  struct Settings {
    config::AgentOptions options;
    gpu::XidPolicy xid_policy;
  };

  // `loaded`: what `source`, which outlives the agent, gave when it was read first.
  Agent(Ports ports, Settings settings, ConfigSource& source, config::Loaded loaded);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Runs until SIGTERM, SIGINT or SIGQUIT; SIGHUP re-reads everything and registers anew.
  // `signals`: a descriptor from open_signals(). Errors, all before anything is advertised: the
  // driver cannot be started and failOnInitError is set; a required IMEX channel is missing.
  Result<void> run(int signals);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  Result<void> start();
  bool take_node_lock(int signals);
  void open_grants();
  void start_registrar();
  void start_watches();
  void loop(int signals);
  void dispatch(int signals, bool& running);
  void on_hangup();
  void on_config_change();
  bool apply_config(config::Loaded loaded);
  void accept_config();
  void refuse_config(const Error& error);
  void update_labels();
  void beat();
  Result<void> follow_imex(const config::Config& config);
  void on_kubelet_folder();
  Result<void> register_with_kubelet(const Registrar::Request& request,
                                     const std::stop_token& stop);
  void on_reading(Result<gpu::Machine> machine);
  void take(gpu::Machine machine);
  void reconcile();
  Result<void> carry_out(offer::Offer offer);
  void keep_promises(offer::Offer& offer);
  void follow_mps(offer::Offer& offer);
  void look_at_mps();
  void follow_limits(const offer::Offer& offer);
  void follow_evictions(const offer::Offer& offer);
  void tell_withheld(const offer::Offer& offer) const;
  void tell_enforcers(const offer::Offer& offer) const;
  void tell_mps(const offer::Offer& offer);
  void tell_stale_mps(const offer::Offer& offer);
  void announce(const config::Loaded& loaded) const;
  void complain(std::string& last, const Error& error, std::string_view consequence);
  std::chrono::milliseconds poll_time();
  TimePoint now() const { return ports_.clock.now(); }

  Ports ports_;
  Settings settings_;
  ConfigSource& source_;
  config::Loaded loaded_;  // the configuration in force
  gpu::HealthTracker health_;
  std::optional<TimePoint> health_due_;  // when health may change by time alone
  std::vector<gpu::GpuUuid> deaf_;       // GPUs whose errors cannot be heard
  gpu::Host host_;
  std::optional<gpu::Machine> machine_;  // the last reading
  std::shared_ptr<const offer::Links> links_;
  NodeFacts facts_;
  // What was last carried out, to see whether anything differs.
  struct Carried {
    gpu::Machine machine;
    config::Config config;
    offer::Offer offer;
    NodeFacts facts;
    std::shared_ptr<const offer::Links> links;
    bool operator==(const Carried&) const = default;
  };
  std::optional<Carried> carried_;
  bool carry_anew_ = false;  // even if nothing differs
  // What went wrong last, so that it is said once.
  std::string config_complaint_;
  std::string reading_complaint_;
  std::string offer_complaint_;
  std::string limits_complaint_;
  // Of each resource that is shared by MPS: why its control daemon does not serve, empty: it does;
  // and those that were offered since the configuration shares them so.
  std::map<config::ResourceName, std::string> mps_troubles_;
  std::map<config::ResourceName, offer::MpsService> mps_services_;
  std::set<config::ResourceName> mps_offered_;
  std::map<config::ResourceName, std::string> mps_told_;  // troubles that stand and were told
  std::string orphans_said_;
  std::string stale_mps_said_;
  std::string unlimited_said_;
  bool nobody_evicts_said_ = false;

  StatusFile status_;
  std::unique_ptr<process::ProcessLock> lock_;
  std::unique_ptr<process::Mailbox> mailbox_;
  std::unique_ptr<GrantStore> grants_;   // null: the state folder cannot be used
  std::optional<TenantManager> limits_;  // with grants_
  // With which kubelet (its socket) the registration of each resource is done or under way; the
  // registrar's thread writes it.
  std::mutex tried_mutex_;
  std::map<std::string, std::shared_ptr<const PinnedFile>> tried_with_;
  std::unique_ptr<Registrar> registrar_;
  std::optional<CdiPublisher> cdi_;
  std::optional<LabelPublisher> labels_;
  std::optional<Watch> config_watch_;
  std::optional<Watch> kubelet_watch_;
  PinnedFile kubelet_socket_;
  std::optional<PluginSet> plugins_;
  // Threads, ended first.
  std::optional<HardwareWatch> hardware_;
  std::optional<XidWatch> xids_;
  std::optional<process::Periodic> pruner_;
  std::optional<process::Periodic> setter_;
};

}  // namespace tranche::agent
