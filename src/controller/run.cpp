#include "controller/run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "agent/signals.h"
#include "agent/status_file.h"
#include "base/uuid.h"
#include "cluster/pause.h"
#include "config/controller_options.h"
#include "controller/controller.h"
#include "controller/elector.h"
#include "kube/connect.h"

namespace tranche::controller {
namespace {

constexpr const char* kLeaseName = "tranche-controller";
// How often the loop looks whether it leads, and still leads.
constexpr std::chrono::milliseconds kLook{250};

// Who this process is among the controllers: its Pod, else the host and something random.
std::string identity(const config::ControllerOptions& options) {
  if (!options.pod_name.empty()) return options.pod_name;
  return fmt::format("{}_{}", agent::host_name(), random_uuid());
}

// Whether a signal asks to end, waiting a moment for one.
bool told_to_end(int signals) {
  pollfd entry{.fd = signals, .events = POLLIN, .revents = 0};
  (void)!::poll(&entry, 1, static_cast<int>(kLook.count()));
  return agent::ends_process(agent::next_signal(signals));
}

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

int work_alone(cluster::Objects& objects, Controller::Options options, int signals,
               const Clock& clock, const Log& log) {
  const Controller controller(objects, std::move(options), clock, log);
  while (!told_to_end(signals)) {
  }
  return 0;
}

int work_while_leading(cluster::Objects& objects, Controller::Options options, int signals,
                       const Clock& clock, const Log& log) {
  Candidate candidate(
      objects, {.lease = {.ns = options.ns, .name = kLeaseName}, .identity = options.instance},
      clock, log);
  const auto& elector = candidate.elector();
  options.time_left = [&elector] { return elector.time_left(); };
  // Ends before the candidate: the Lease is given away when nothing is written any more.
  std::optional<Controller> controller;
  while (!told_to_end(signals)) {
    if (elector.lost()) {
      log.error(
          "the Lease is lost, so that another controller may lead: ending; started anew this one "
          "waits for its turn");
      return 1;
    }
    if (!controller && elector.leads()) controller.emplace(objects, options, clock, log);
  }
  return 0;
}

Result<int> run(const config::ControllerOptions& options, const config::Sources& sources,
                int signals, const Log& log) {
  ASSIGN_OR_RETURN(const auto objects, kube::connect(options.kubeconfig, sources.environment,
                                                     "tranche-controller", log));
  const SystemClock clock;
  log.info(fmt::format("following the ClusterPolicy; agents follow ConfigMap {}/{}", options.ns,
                       options.config_map_out));
  const auto work = options.leader_elect ? work_while_leading : work_alone;
  return work(*objects,
              {.ns = options.ns, .out_name = options.config_map_out, .instance = identity(options)},
              signals, clock, log);
}

}  // namespace

int run_controller(const config::Sources& sources) {
  const auto options = config::load_controller_options(sources);
  if (!options) {
    Log().error(options.error());
    return 1;
  }
  const Log log(options->log_level);
  const auto signals = agent::open_signals();
  if (!signals) {
    log.error(signals.error());
    return 1;
  }
  const auto code = run(*options, sources, *signals, log);
  ::close(*signals);
  if (!code) log.error(code.error());
  return code.value_or(1);
}

}  // namespace tranche::controller
