#include "controller/run.h"

#include <fmt/format.h>

#include <optional>
#include <thread>
#include <vector>

#include "base/exit_code.h"
#include "base/uuid.h"
#include "cluster/pause.h"
#include "config/programs/controller_options.h"
#include "controller/certificate_keeper.h"
#include "controller/elector.h"
#include "controller/evictor.h"
#include "controller/fleet_watch.h"
#include "controller/fraction_webhook.h"
#include "controller/gate_notice.h"
#include "controller/mig_drainer.h"
#include "controller/mig_pools.h"
#include "controller/mig_waiting.h"
#include "controller/policy_controller.h"
#include "controller/quota_keeper.h"
#include "controller/quota_watch.h"
#include "controller/quota_webhook.h"
#include "controller/share_book.h"
#include "controller/share_templates.h"
#include "controller/template_collector.h"
#include "controller/worker_set.h"
#include "kube/connect.h"
#include "process/host_name.h"
#include "process/signals.h"

namespace tranche::controller {
namespace {

constexpr const char* kLeaseName = "tranche-controller";
// How often the loop checks whether this process leads.
constexpr std::chrono::milliseconds kLook{250};

// This process's name among the controllers: its Pod, else the host name and a random UUID.
std::string identity(const config::ControllerOptions& options) {
  if (!options.pod_name.empty()) return options.pod_name;
  return fmt::format("{}_{}", process::host_name(), random_uuid());
}

// Waits a moment for a signal. True: a signal asks to end.
bool told_to_end(int signals) { return !process::wait_for_signal(signals, kLook); }

// Renews the Lease on a thread of its own, and releases it when destroyed.
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

// The workers of this controller, one line for each.
std::vector<WorkerPlan> plan(const config::ControllerOptions& options,
                             const std::string& instance) {
  std::vector<WorkerPlan> plans;
  if (!options.config_map_out.empty()) {
    plans.push_back(plan_policy({.ns = options.ns,
                                 .out_name = options.config_map_out,
                                 .mps_root = options.mps_root,
                                 .agents = options.agents,
                                 .instance = instance}));
  }
  if (options.evict_unregistered) {
    plans.push_back(plan_evictions({.ns = options.ns, .instance = instance}));
  }
  if (options.mig_changes) {
    plans.push_back(plan_mig_changes({.ns = options.ns, .instance = instance}));
    plans.push_back(plan_mig_waiting({.instance = instance}));
  }
  if (!options.mig_pools.empty()) {
    plans.push_back(
        plan_mig_pools({.ns = options.ns, .name = options.mig_pools, .instance = instance}));
  }
  return plans;
}

std::vector<admission::DraModel> expected(const std::vector<config::ExpectedModel>& models) {
  std::vector<admission::DraModel> all;
  for (const auto& [product, memory] : models)
    all.push_back({.product = product, .memory = memory});
  return all;
}

// What the webhook and the keeper of templates both follow.
struct ShareFacts {
  ShareFacts(const WorkerContext& context, const std::vector<config::ExpectedModel>& models)
      : fleet(context.objects, {.expected = expected(models)}, context.clock, context.log),
        templates(context.objects, {}, {}, context.log) {}

  FleetWatch fleet;
  ShareTemplates templates;
};

// What counting shares needs beside them.
struct ShareCounting {
  ShareCounting(const WorkerContext& context, const FleetWatch& fleet,
                const config::WebhookOptions& options)
      : charge{.classes = options.counted_classes},
        quotas(context.objects, {}, {}, context.log),
        book(context.objects, fleet, {.configuration = options.configuration, .charge = charge},
             context.clock, context.log),
        webhook(fleet, quotas, book, charge, context.log) {}

  admission::quota::ChargeOptions charge;

  QuotaWatch quotas;
  ShareBook book;
  QuotaWebhook webhook;
};

// `counting`: null where shares are not counted.
void plan_fractions(const config::ControllerOptions& options, ShareFacts& facts,
                    ShareCounting* counting, const std::string& instance,
                    std::vector<WorkerPlan>& plans) {
  const auto& webhook = *options.webhook;
  const cluster::ObjectKey secret{.ns = options.ns, .name = webhook.secret};
  FractionWebhook::Options served{
      .address = webhook.address, .port = webhook.port, .secret = secret};
  if (counting != nullptr) {
    served.review_claim = [counting](const std::string& body, const std::stop_token& stop) {
      return counting->webhook.answer(body, stop);
    };
    plans.push_back(plan_quota_keeper(counting->book, {.classes = counting->charge.classes}));
  }
  plans.push_back(plan_fraction_webhook(facts.fleet, facts.templates, std::move(served)));
  plans.push_back(
      plan_certificates({.secret = secret,
                         .configuration = webhook.configuration,
                         .has_validating = webhook.counts_shares,
                         .rules = {.hosts = webhook.hosts, .life = webhook.certificate_life}}));
  plans.push_back(plan_template_collector(facts.fleet, facts.templates, {}));
  plans.push_back(plan_gate_notice({.instance = instance}));
}

int work(const WorkerContext& context, const config::ControllerOptions& options, int signals) {
  const auto instance = identity(options);
  auto plans = plan(options, instance);
  std::optional<ShareFacts> facts;
  std::optional<ShareCounting> counting;
  if (options.webhook) {
    facts.emplace(context, options.webhook->models);
    if (options.webhook->counts_shares) {
      counting.emplace(context, facts->fleet, *options.webhook);
    }
    plan_fractions(options, *facts, counting ? &*counting : nullptr, instance, plans);
  }
  for (const auto& one : plans) context.log.info(one.purpose);
  std::optional<Candidate> candidate;
  auto elected = context;
  if (options.leader_elect) {
    candidate.emplace(
        context.objects,
        Elector::Options{.lease = {.ns = options.ns, .name = kLeaseName}, .identity = instance},
        context.clock, context.log);
    elected.time_left = [&candidate] { return candidate->elector().time_left(); };
  }
  // Declared after the candidate, so the workers end first: the Lease is released when nothing is
  // written any more.
  WorkerSet workers(std::move(plans), elected);
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
  return work({.objects = *objects, .clock = clock, .log = log}, options, signals);
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
