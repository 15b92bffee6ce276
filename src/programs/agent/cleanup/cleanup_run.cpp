#include "agent/cleanup/cleanup_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <utility>

#include "agent/cleanup/claims_in_the_way.h"
#include "agent/cleanup/cleanup.h"
#include "agent/cleanup/cleanup_turn.h"
#include "agent/cleanup/daemon_set_rollout.h"
#include "agent/limits/mounted_names.h"
#include "base/exit_code.h"
#include "base/fs.h"
#include "config/programs/controller_options.h"
#include "host/boot_id.h"
#include "kube/connect.h"
#include "kubelet/pod_resources_client.h"
#include "process/signals.h"
#include "process/status_socket.h"

namespace tranche::agent {
namespace {

constexpr const char* kUserAgent = "tranche-cleanup";
constexpr std::array<std::string_view, 6> kOwnFlags = {"stay",  "check", "daemonset",
                                                       "patch", "force", "timeout"};

// Name of a waiting cleanup that answers --check by its process, so that neither a stale file nor
// another release's cleanup counts.
constexpr const char* kWho = "cleanup";
std::string of(const config::CleanupOptions& options) {
  return fmt::format("{} {}", options.state_dir, options.release);
}

config::Sources agents_sources(config::Sources sources) {
  std::erase_if(sources.flags, [](const config::FlagValue& flag) {
    return std::ranges::find(kOwnFlags, flag.name) != kOwnFlags.end();
  });
  return sources;
}

// Who holds devices, according to kubelet. A kubelet without its Pods yet lists none, but its
// checkpoint still names them. The checkpoint also names containers that have just gone, and
// without an agent kubelet does not write it. So only the list counts if it has `own_pod`, the Pod
// of this program.
std::optional<std::vector<cluster::HeldDevices>> held_here(kubelet::PodResourcesClient& kubelet,
                                                           const std::string& own_pod,
                                                           const Log& log) {
  auto listed = kubelet.list();
  if (listed && listed->pods.contains(own_pod)) return std::move(listed->devices);
  auto remembered = listed ? kubelet.remembered() : std::unexpected(listed.error());
  if (!remembered) {
    log.warn(fmt::format("what containers hold is not known, so what grants mount stays: {}",
                         remembered.error().message()));
    return std::nullopt;
  }
  std::ranges::move(*remembered, std::back_inserter(listed->devices));
  return std::move(listed->devices);
}

class Cleanup {
 public:
  Cleanup(const config::CleanupOptions& options, int signals, const Log& log)
      : options_(options),
        signals_(signals),
        log_(log),
        wait_([signals](std::chrono::milliseconds time) {
          return process::wait_for_signal(signals, time);
        }) {}

  Result<void> roll_out(const config::Sources& sources) const {
    ASSIGN_OR_RETURN(const auto objects,
                     kube::connect(options_.api_server, sources.environment, kUserAgent, log_));
    return agent::roll_out(
        *objects,
        {.daemon_set = {.ns = options_.daemon_set_namespace, .name = options_.daemon_set},
         .patch = options_.patch,
         .timeout = options_.timeout,
         .claims = claims()},
        wait_, clock_, log_);
  }

  Result<void> clear(const config::Sources& sources) {
    const auto agents = agents_sources(sources);
    ASSIGN_OR_RETURN(const auto options, config::load_agent_options(agents));
    if (!stays()) deadline_ = clock_.now() + options_.timeout;
    const auto claim = NodeClaim::of(options);
    ASSIGN_OR_RETURN(const auto turn, await_turn(claim));
    if (!turn.server.empty()) {
      log_.info(fmt::format("{} serves this node: nothing of release {} is here to be cleared",
                            turn.server, claim.release()));
      return stays() ? stay() : Result<void>();
    }
    if (!turn.lock) return {};
    if (claims() == Claims::kStop) {
      TRY(check_claims_here(options.state_dir, host::boot_id(FsRoot(options.host_root))));
    }
    auto plan = plan_cleanup(agents, options, log_);
    kubelet::PodResourcesClient pod_resources(options.kubelet_root);
    plan.held = held_here(pod_resources, options.pod_name, log_);
    auto mounted = mounted_names(FsRoot());
    plan.mounted = mounted ? std::optional(*std::move(mounted)) : std::nullopt;
    std::unique_ptr<cluster::Objects> objects;
    if (plan.needs_api_server()) {
      if (plan.node_name.empty()) {
        return fail(Code::kInvalidArgument, "the node's name is not known",
                    "set NODE_NAME by the downward API (fieldRef spec.nodeName)");
      }
      ASSIGN_OR_RETURN(objects,
                       kube::connect(options_.api_server, sources.environment, kUserAgent, log_));
    }
    ASSIGN_OR_RETURN(const bool done, clear_node(cleanup_steps(plan, objects.get(), clock_), wait_,
                                                 deadline_, clock_, log_));
    if (!done) return {};
    log_.info("this node is cleared");
    // Now, because a cleanup that is killed while it waits leaves the file.
    TRY(claim.clear());
    if (stays()) TRY(stay());
    // The lock files are removed while locked: an agent that starts now waits for them, and then
    // makes them again.
    return claim.remove();
  }

 private:
  Claims claims() const { return options_.force ? Claims::kGoOn : Claims::kStop; }
  bool stays() const { return options_.mode == config::CleanupOptions::Mode::kStay; }

  Result<CleanupTurn> await_turn(const NodeClaim& claim) {
    std::string held;
    bool overdue = false;
    auto turn = take_cleanup_turn(claim, [&](const std::filesystem::path& file) {
      if (held != file) {
        held = file.string();
        log_.info(
            fmt::format("an agent serves this node (it holds {}); waiting for it to end", held));
      }
      overdue = deadline_ && clock_.now() > *deadline_;
      return !overdue && wait_(process::ProcessLock::kRetry);
    });
    if (!overdue) return turn;
    return fail(Code::kTimeout, fmt::format("an agent serves this node: it holds {}", held),
                "end it first (kubectl delete daemonset, helm uninstall), then run this again");
  }

  Result<void> stay() {
    process::StatusSocket socket(kWho, of(options_), clock_);
    TRY(socket.beat("cleared"));
    while (wait_(std::chrono::hours(1))) {
    }
    return {};
  }

  const config::CleanupOptions& options_;
  int signals_;
  const Log& log_;
  const CleanupWait wait_;
  const SystemClock clock_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
};

int check(const config::CleanupOptions& options) {
  const auto answer = process::StatusSocket::ask(kWho, of(options));
  if (answer) {
    fmt::print("{}\n", answer->text);
    return 0;
  }
  fmt::print(stderr, "not cleared (yet): {}; see the log of 'tranche cleanup --stay'\n",
             answer.error().message());
  return 1;
}

}  // namespace

int run_cleanup(const config::Sources& sources) {
  const auto options = config::load_cleanup_options(sources);
  if (!options) {
    Log().error(options.error());
    return kExitUsage;
  }
  if (options->mode == config::CleanupOptions::Mode::kCheck) return check(*options);
  const Log log(options->log_level);
  return process::run_with_signals(log, [&](int signals) {
    Cleanup cleanup(*options, signals, log);
    const bool rolls_out = options->mode == config::CleanupOptions::Mode::kRollOut;
    const auto result = rolls_out ? cleanup.roll_out(sources) : cleanup.clear(sources);
    if (!result) log.error(result.error());
    return result ? 0 : 1;
  });
}

}  // namespace tranche::agent
