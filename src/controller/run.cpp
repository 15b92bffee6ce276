#include "controller/run.h"

#include <fmt/format.h>

#include <optional>
#include <thread>

#include "base/uuid.h"
#include "cluster/pause.h"
#include "config/programs/controller_options.h"
#include "controller/controller.h"
#include "controller/elector.h"
#include "controller/evictor.h"
#include "kube/connect.h"
#include "process/host_name.h"
#include "process/signals.h"

namespace tranche::controller {
namespace {

constexpr const char* kLeaseName = "tranche-controller";
// How often the loop looks whether it leads, and still leads.
constexpr std::chrono::milliseconds kLook{250};

// Who this process is among the controllers: its Pod, else the host and something random.
std::string identity(const config::ControllerOptions& options) {
  if (!options.pod_name.empty()) return options.pod_name;
  return fmt::format("{}_{}", process::host_name(), random_uuid());
}

// Whether a signal asks to end, waiting a moment for one.
bool told_to_end(int signals) { return !process::wait_for_signal(signals, kLook); }

// Renews the Lease on a thread of its own; gives it away at its end.
class Candidate {
 public:
  Candidate(cluster::Objects& objects, Elector::Options options, const Clock& clock, const Log& log)
      : elector_(objects, std::move(options), clock, log),
        thread_([this](const std::stop_token& stop) {
          do {
            elector_.attempt(stop);
          } while (cluster::pause(Elector::Options().retry, stop));
        }) {}
  ~Candidate() {
    thread_.request_stop();
    thread_.join();
    elector_.release();
  }
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  const Elector& elector() const { return elector_; }

 private:
  Elector elector_;
  std::jthread thread_;
};

// What a controller does; which parts, its options say.
class Work {
 public:
  struct Options {
    std::optional<Controller::Options> policy;
    std::optional<Evictor::Options> evictions;
    std::string ns;
    std::string instance;
  };
  Work(cluster::Objects& objects, Options options, const Clock& clock, const Log& log) {
    if (options.policy) policy_.emplace(objects, *std::move(options.policy), clock, log);
    if (options.evictions) evictor_.emplace(objects, *std::move(options.evictions), clock, log);
  }

 private:
  std::optional<Controller> policy_;
  std::optional<Evictor> evictor_;
};

Work::Options parts(const config::ControllerOptions& options) {
  Work::Options work{
      .policy = {}, .evictions = {}, .ns = options.ns, .instance = identity(options)};
  if (!options.config_map_out.empty()) {
    work.policy = Controller::Options{.ns = work.ns,
                                      .out_name = options.config_map_out,
                                      .mps_root = options.mps_root,
                                      .instance = work.instance};
  }
  if (options.evict_unregistered) {
    work.evictions = Evictor::Options{.ns = work.ns, .instance = work.instance};
  }
  return work;
}

int work_alone(cluster::Objects& objects, Work::Options options, int signals, const Clock& clock,
               const Log& log) {
  const Work work(objects, std::move(options), clock, log);
  while (!told_to_end(signals)) {
  }
  return 0;
}

int work_while_leading(cluster::Objects& objects, Work::Options options, int signals,
                       const Clock& clock, const Log& log) {
  Candidate candidate(
      objects, {.lease = {.ns = options.ns, .name = kLeaseName}, .identity = options.instance},
      clock, log);
  const auto& elector = candidate.elector();
  const auto time_left = [&elector] { return elector.time_left(); };
  if (options.policy) options.policy->time_left = time_left;
  if (options.evictions) options.evictions->time_left = time_left;
  // Ends before the candidate: the Lease is given away when nothing is written any more.
  std::optional<Work> work;
  while (!told_to_end(signals)) {
    if (elector.lost()) {
      log.error(
          "the Lease is lost, so that another controller may lead: ending; started anew this one "
          "waits for its turn");
      return 1;
    }
    if (!work && elector.leads()) work.emplace(objects, options, clock, log);
  }
  return 0;
}

Result<int> run(const config::ControllerOptions& options, const config::Sources& sources,
                int signals, const Log& log) {
  ASSIGN_OR_RETURN(const auto objects, kube::connect(options.api_server, sources.environment,
                                                     "tranche-controller", log));
  const SystemClock clock;
  if (!options.config_map_out.empty()) {
    log.info(fmt::format("following the ClusterPolicy; agents follow ConfigMap {}/{}", options.ns,
                         options.config_map_out));
  }
  if (options.evict_unregistered) {
    log.info("evicting Pods that use limited devices past the limiter, where agents ask for it");
  }
  const auto work = options.leader_elect ? work_while_leading : work_alone;
  return work(*objects, parts(options), signals, clock, log);
}

}  // namespace

int run_controller(const config::Sources& sources) {
  const auto options = config::load_controller_options(sources);
  if (!options) {
    Log().error(options.error());
    return 1;
  }
  const Log log(options->log_level);
  return process::run_with_signals(log, [&](int signals) {
    const auto code = run(*options, sources, signals, log);
    if (!code) log.error(code.error());
    return code.value_or(1);
  });
}

}  // namespace tranche::controller
