// How an agent starts: the node lock, the first reading, what is restored, and its watches.

#include <fmt/format.h>

#include "agent/agent.h"
#include "host/host_reader.h"
#include "process/signals.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kPruneInterval{60};
constexpr std::chrono::milliseconds kSettingsInterval{500};
constexpr std::chrono::seconds kLongestSetting{5};

}  // namespace

// False: told to stop while waiting for another agent to end.
bool Agent::take_node_lock(int signals) {
  const auto file = std::filesystem::path(settings_.options.state_dir) / "agent.lock";
  const auto waiting = [&](bool first) {
    if (first) {
      ports_.log.info(fmt::format(
          "another agent serves this node (it holds {}); waiting for it to end", file.string()));
    }
    status_.beat({.ready = false, .text = "another agent serves this node"});
    return true;
  };
  const auto made = FsRoot().make_directories(settings_.options.state_dir);
  auto lock =
      made ? process::ProcessLock::take(file, signals, waiting) : std::unexpected(made.error());
  if (!lock) {
    // A manifest written for NVIDIA's plugin mounts no state folder: serve all the same.
    ports_.log.warn(
        fmt::format("no node lock: {}; two agents on this node would not see each "
                    "other (mount a writable folder at --state-dir)",
                    lock.error().message()));
    return true;
  }
  lock_ = *std::move(lock);
  return lock_ != nullptr;
}

Result<void> Agent::start() {
  const auto& config = loaded_.config;
  announce(loaded_);
  TRY(follow_imex(config));
  host_ = host::read_host(FsRoot(settings_.options.host_root), config.flags.gfd.machine_type_file);
  for (const auto& warning : settings_.xid_policy.warnings) ports_.log.warn(warning);

  auto machine = ports_.reader.read();
  if (!machine && config.flags.fail_on_init_error) {
    return std::unexpected(std::move(machine).error());
  }
  open_grants();
  start_registrar();
  cdi_.emplace(settings_.options, ports_.log);
  labels_.emplace(settings_.options.labels, ports_.labels, ports_.clock, ports_.log);
  const auto store = [this](const offer::Grant& grant) -> Result<void> {
    if (!limits_) return {};  // then nothing that has limits is offered
    return limits_->store(grant);
  };
  plugins_.emplace(PluginSet::Options{.dir = settings_.options.device_plugins_dir(),
                                      .take_over = settings_.options.take_over},
                   store, registrar_.get(), ports_.log);
  kubelet_socket_ = PinnedFile(settings_.options.kubelet_socket);
  on_reading(std::move(machine));
  start_watches();
  if (ports_.notifier != nullptr) {
    ports_.notifier->listen([this] {
      mailbox_->post([this] {
        on_config_change();
        update_labels();
      });
    });
  }
  // What changed before the watches were there.
  on_config_change();
  on_kubelet_folder();
  beat();
  return {};
}

void Agent::open_grants() {
  const auto dir = std::filesystem::path(settings_.options.state_dir) / "grants";
  auto store = GrantStore::open(dir, ports_.clock, ports_.log);
  if (!store) {
    ports_.log.warn(fmt::format("grants are not stored: {}; mount a writable folder at --state-dir",
                                store.error().message()));
    return;
  }
  grants_ = *std::move(store);
  const std::filesystem::path library = settings_.options.limit_library;
  limits_.emplace(
      TenantManager::Options{.library = library.empty() ? library_beside_program() : library,
                             .state_dir = settings_.options.state_dir,
                             .cdi_root = settings_.options.cdi_root},
      *grants_, ports_.log);
  if (ports_.settings == nullptr) limits_->settle({});
  if (const auto restored = grants_->all().size(); restored > 0) {
    ports_.log.info(fmt::format("restored {} grants from {}", restored, dir.string()));
  }
}

void Agent::start_registrar() {
  if (settings_.options.kubelet_socket.empty()) {
    ports_.log.info("not registering with kubelet (--kubelet-socket is empty)");
    return;
  }
  registrar_ = std::make_unique<Registrar>(
      [this](const Registrar::Request& request, const std::stop_token& stop) {
        return register_with_kubelet(request, stop);
      },
      ports_.log);
}

// On the registrar's thread. The socket is pinned: a kubelet that replaces this one meanwhile is
// not registered with by accident, which its own registration would then cut off.
Result<void> Agent::register_with_kubelet(const Registrar::Request& request,
                                          const std::stop_token& stop) {
  const auto kubelet = std::make_shared<const PinnedFile>(settings_.options.kubelet_socket);
  {
    const std::scoped_lock lock(tried_mutex_);
    tried_with_[request.resource] = kubelet;
  }
  auto result = ports_.register_plugin(request, *kubelet, stop);
  if (!result) {
    const std::scoped_lock lock(tried_mutex_);
    tried_with_.erase(request.resource);
  }
  return result;
}

void Agent::start_watches() {
  const auto watch = [this](std::vector<std::filesystem::path> paths) -> std::optional<Watch> {
    if (paths.empty()) return std::nullopt;
    auto opened = Watch::open(std::move(paths));
    if (opened) return *std::move(opened);
    ports_.log.error(
        fmt::format("changes are not noticed until SIGHUP: {}", opened.error().message()));
    return std::nullopt;
  };
  config_watch_ = watch(source_.watch_paths());
  std::vector<std::filesystem::path> kubelet_paths = {settings_.options.device_plugins_dir()};
  if (!settings_.options.kubelet_socket.empty()) {
    kubelet_paths.emplace_back(settings_.options.kubelet_socket);
  }
  kubelet_watch_ = watch(std::move(kubelet_paths));
  hardware_.emplace(
      ports_.reader,
      std::chrono::ceil<std::chrono::milliseconds>(settings_.options.machine_interval),
      machine_.value_or(gpu::Machine()),
      HardwareWatch::Callbacks{.reading =
                                   [this](Result<gpu::Machine> machine) {
                                     mailbox_->post([this, machine = std::move(machine)]() mutable {
                                       on_reading(std::move(machine));
                                     });
                                   },
                               .links =
                                   [this](offer::Links links) {
                                     mailbox_->post([this, links = std::move(links)]() mutable {
                                       links_ =
                                           std::make_shared<const offer::Links>(std::move(links));
                                       reconcile();
                                     });
                                   }});
  pruner_.emplace(kPruneInterval, [this] {
    if (!limits_) return;
    if (const auto held = ports_.pod_resources.list()) limits_->prune(*held);
  });
  if (limits_ && ports_.settings != nullptr) {
    setter_.emplace(kSettingsInterval, [this] {
      ports_.settings->look(ports_.pod_resources, *limits_, {.deadline = kLongestSetting});
    });
  }
  if (!settings_.xid_policy.listens()) return;
  xids_.emplace(ports_.events,
                XidWatch::Callbacks{.event =
                                        [this](gpu::XidEvent event) {
                                          mailbox_->post([this, event = std::move(event)] {
                                            health_.on_xid(event, now());
                                            reconcile();
                                          });
                                        },
                                    .deaf =
                                        [this](std::vector<gpu::GpuUuid> deaf) {
                                          mailbox_->post([this, deaf = std::move(deaf)] {
                                            deaf_ = deaf;
                                            reconcile();
                                          });
                                        }},
                ports_.log);
  if (machine_) xids_->follow(*machine_);
}

}  // namespace tranche::agent
