// tranche-load compare: runs one scenario under several sharing mechanisms.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "load/compare.h"
#include "load/main/options.h"
#include "load/render.h"

namespace tranche::load {
namespace {

struct Wish {
  Load common;  // device, driver and kernels, the same for all processes
  Scenario scenario;
  std::string mechanisms = "time-slicing,mps,limits";
  std::string troubles = "memory,kill";
  std::string format = "table";
  nanoseconds duration = std::chrono::seconds(5);
};

// Copies the common part into all loads of the scenario.
void spread(Wish& wish) {
  for (Load* load : {&wish.scenario.request, &wish.scenario.neighbour, &wish.scenario.victim}) {
    load->driver = wish.common.driver;
    load->device = wish.common.device;
    load->time = wish.common.time;
    load->spin = wish.common.spin;
    load->fill = wish.common.fill;
    load->rounds_per_us = wish.common.rounds_per_us;
    load->duration = wish.duration;
  }
}

bool is_good(const Report& report) { return report.error.empty(); }

// Trouble was asked for, so it is no finding. A failed measurement is one, and so is a comparison
// of nothing.
bool is_good(const Comparison& comparison) {
  bool any = false;
  for (const MechanismResult& one : comparison.results) {
    if (!one.unavailable.empty()) continue;
    any = true;
    if (!is_good(one.request) || !std::ranges::all_of(one.neighbours, [](const Report& report) {
          return is_good(report);
        })) {
      return false;
    }
  }
  return any && is_good(comparison.request_alone) && is_good(comparison.neighbour_alone);
}

int run_compare(Wish& wish) {
  spread(wish);
  auto workers = WorkerGroup::make();
  auto comparison = workers ? compare(**workers, wish.scenario) : std::unexpected(workers.error());
  if (!comparison) {
    fmt::print(stderr, "tranche-load: {}\n", comparison.error().message());
    return comparison.error().code == Code::kNotFound ? kNoGpu : kFinding;
  }
  fmt::print("{}", wish.format == "table" ? render_table(*comparison)
                                          : in_form(render_json(*comparison), wish.format));
  return is_good(*comparison) ? kFine : kFinding;
}

template <class T>
T value_or_usage(Result<T> read, const char* flag) {
  if (!read) throw CLI::ValidationError(flag, read.error().message());
  return *std::move(read);
}

void set_defaults(Scenario& scenario) {
  scenario.request.pattern = Pattern::kLatency;
  scenario.request.kernel = std::chrono::milliseconds(2);
  scenario.request.every = std::chrono::milliseconds(10);
  scenario.neighbour.pattern = Pattern::kStorm;
  scenario.neighbour.kernel = std::chrono::microseconds(200);
  scenario.victim.pattern = Pattern::kCompute;
  scenario.victim.memory = Bytes::from_mib(256);
  scenario.victim.scratch = Bytes::from_mib(16);
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  const auto wish = std::make_shared<Wish>();
  Scenario& scenario = wish->scenario;
  set_defaults(scenario);
  CLI::App& sub = *app.add_subcommand(
      "compare",
      "A latency-critical process beside best-effort ones, under several ways of sharing, and what "
      "trouble of one does to the other");
  sub.footer(
      "Examples:\n  tranche-load compare --mechanisms time-slicing,mps --duration 10s\n"
      "  tranche-load compare --request 2ms --every 10ms --neighbours 4 --trouble none -o json");
  sub.add_option("--mechanisms", wish->mechanisms,
                 "Among time-slicing, mps, limits [all three]; what this machine has not is said");
  add_duration(sub, "--duration", wish->duration, "Of each measurement [5s]");
  add_duration(sub, "--request", scenario.request.kernel, "GPU time of a request [2ms]");
  add_duration(sub, "--every", scenario.request.every,
               "A request is due so often; 0s: when the one before is answered [10ms]");
  sub.add_option("--neighbours", scenario.neighbours, "Best-effort processes beside it [2]")
      ->check(CLI::Range(0, 100));
  add_duration(sub, "--neighbour-kernel", scenario.neighbour.kernel,
               "GPU time of each of their kernels [200us]");
  sub.add_option("--neighbour-depth", scenario.neighbour.depth, "Launches each keeps queued [64]")
      ->check(CLI::Range(1, 1000));
  sub.add_option("--neighbour-nodes", scenario.neighbour.graph_nodes,
                 "Their launches are graphs of so many kernels [0: kernels]");
  sub.add_option("--trouble", wish->troubles,
                 "Among memory, kill, fault, or none [memory,kill]. fault makes the GPU report an "
                 "XID, as every bad memory access does");
  add_size(sub, "--victim-memory", scenario.victim.memory,
           "Held by the one beside trouble [256Mi]");
  add_size(sub, "--victim-scratch", scenario.victim.scratch,
           "What it allocates and frees all the time [16Mi]");
  sub.add_option("--mps-env", scenario.options.mps_environment,
                 "NAME=VALUE that makes a process an MPS client [what is in force here]");
  sub.add_option("--limit-library", scenario.options.limit_library, "libtranche-limit.so");
  sub.add_option(
      "--tenants", scenario.options.tenants,
      "The arbiter's folder of tenants, among them 'latency', 'neighbour-1', ...: one for "
      "each process, which finds it below /run/tranche (needs root)");
  add_kernels(sub, wish->common);
  add_machine(sub, wish->common);
  add_output(sub, wish->format);
  sub.callback([wish, &exit_code] {
    Scenario& asked = wish->scenario;
    asked.mechanisms = value_or_usage(parse_mechanisms(wish->mechanisms), "--mechanisms");
    asked.troubles = value_or_usage(parse_troubles(wish->troubles), "--trouble");
    if (asked.request.kernel.count() <= 0 || asked.neighbour.kernel.count() <= 0) {
      throw CLI::ValidationError("--request, --neighbour-kernel", "are not above 0");
    }
    if (wish->duration.count() <= 0) throw CLI::ValidationError("--duration", "is not above 0");
    if (wish->common.time == TimeBase::kDevice && asked.request.every.count() > 0) {
      throw CLI::ValidationError("--time", "device goes with --every 0s");
    }
    exit_code = run_compare(*wish);
  });
}

}  // namespace tranche::load
