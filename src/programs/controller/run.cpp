#include "controller/run.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/exit_code.h"
#include "base/uuid.h"
#include "config/programs/controller_options.h"
#include "controller/candidate.h"
#include "controller/certificate_rotator.h"
#include "controller/cluster_web.h"
#include "controller/evictor.h"
#include "controller/fraction_webhook.h"
#include "controller/mig_drainer.h"
#include "controller/mig_pools.h"
#include "controller/policy_controller.h"
#include "controller/quota_reconciler.h"
#include "controller/share_services.h"
#include "controller/template_collector.h"
#include "controller/waiting_pods.h"
#include "controller/worker_set.h"
#include "kube/connect.h"
#include "process/host_name.h"
#include "process/signals.h"

namespace tranche::controller {
namespace {

// The workers, in the order in which they start.
constexpr std::optional<WorkerPlan> (*kWorkers[])(const config::ControllerOptions&) = {
    plan_policy,       plan_evictions,          plan_mig_changes,
    plan_mig_pools,    plan_quota_reconciler,   plan_fraction_webhook,
    plan_certificates, plan_template_collector, plan_waiting_pods,
    plan_cluster_web,
};

constexpr const char* kLeaseName = "tranche-controller";
// How often the loop checks whether this process leads.
constexpr std::chrono::milliseconds kLook{250};

// This process's identity in the Lease: its Pod, else the host name and a random UUID.
std::string identity(const config::ControllerOptions& options) {
  if (!options.pod_name.empty()) return options.pod_name;
  return fmt::format("{}_{}", process::host_name(), random_uuid());
}

// Waits kLook for a signal. True: a signal asks to end.
bool told_to_end(int signals) { return !process::wait_for_signal(signals, kLook); }

// The workers that the options enable. Logs what each is for.
std::vector<WorkerPlan> plan(const config::ControllerOptions& options, const Log& log) {
  std::vector<WorkerPlan> plans;
  for (const auto worker : kWorkers) {
    if (auto one = worker(options)) plans.push_back(*std::move(one));
  }
  for (const auto& one : plans) {
    for (const auto& purpose : one.purposes) log.info(purpose);
  }
  return plans;
}

int work(WorkerContext context, const config::ControllerOptions& options, int signals) {
  std::optional<ShareServices> shares;
  if (options.webhook) context.shares = &shares.emplace(context, *options.webhook);
  auto plans = plan(options, context.log);
  std::optional<Candidate> candidate;
  if (options.leader_elect) {
    candidate.emplace(context, Elector::Options{.lease = {.ns = options.ns, .name = kLeaseName},
                                                .identity = context.instance});
    context.leads = [&candidate] { return candidate->elector().leads(); };
    context.time_left = [&candidate] { return candidate->elector().time_left(); };
  }
  // Declared after the candidate, so the workers end first: the Lease is released when nobody
  // writes any more.
  WorkerSet workers(std::move(plans), context);
  do {
    if (candidate && candidate->elector().lost()) {
      context.log.error(
          "the Lease is lost, so that another controller may lead: ending; started anew this one "
          "waits for its turn");
      return 1;
    }
    workers.follow(!candidate || candidate->elector().leads());
  } while (!told_to_end(signals));
  return 0;
}

Result<int> run(const config::ControllerOptions& options, const config::Sources& sources,
                int signals, const Log& log) {
  ASSIGN_OR_RETURN(const auto objects, kube::connect(options.api_server, sources.environment,
                                                     "tranche-controller", log));
  const SystemClock clock;
  SharedWatches watches(*objects, log);
  return work({.objects = *objects,
               .clock = clock,
               .log = log,
               .watches = watches,
               .instance = identity(options)},
              options, signals);
}

}  // namespace

int run_controller(const config::Sources& sources) {
  const auto options = config::load_controller_options(sources);
  if (!options) {
    Log().error(options.error());
    return kExitUsage;
  }
  const Log log(options->log_level);
  return process::run_with_signals(log, [&](int signals) {
    const auto code = run(*options, sources, signals, log);
    if (!code) log.error(code.error());
    return code.value_or(1);
  });
}

}  // namespace tranche::controller
