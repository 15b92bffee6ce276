// tranche-load hold, compute, graph, latency, storm: runs one pattern in one or more processes.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "load/main/options.h"
#include "load/render.h"
#include "load/worker_group.h"

namespace tranche::load {
namespace {

constexpr unsigned kMostProcesses = 1000;
constexpr unsigned kMostQueued = 1000;  // drivers let a stream hold about that many launches

struct PatternWish {
  Load load;
  unsigned processes = 1;
  std::string format = "table";
};

// Measures the busy kernel's speed once, in one process: several at a time would slow each other.
Result<void> measure_speed(WorkerGroup& workers, Load& load) {
  if (load.pattern == Pattern::kHold || load.spin || load.rounds_per_us > 0) return {};
  Load probe = load;
  probe.pattern = Pattern::kProbe;
  probe.name = "probe";
  probe.memory = {};
  probe.all_memory = false;
  ASSIGN_OR_RETURN(const WorkerGroup::Id id, workers.start(probe, {}));
  ASSIGN_OR_RETURN(const Ready ready, workers.ready(id));
  workers.go(id);
  workers.report(id);
  load.rounds_per_us = ready.device.rounds_per_us;
  return {};
}

struct Member {
  WorkerGroup::Id id = 0;
  Report report;  // until it has worked: its name, and why it does not work
};

Result<std::vector<Member>> start_all(WorkerGroup& workers, const PatternWish& wish,
                                      std::string_view name, DeviceInfo& device) {
  std::vector<Member> members;
  for (unsigned i = 0; i < wish.processes; ++i) {
    Load load = wish.load;
    load.name = wish.processes == 1 ? std::string(name) : fmt::format("{}-{}", name, i + 1);
    ASSIGN_OR_RETURN(const WorkerGroup::Id id, workers.start(load, {}));
    members.push_back({.id = id, .report = {.name = load.name, .pid = workers.pid(id)}});
  }
  for (Member& member : members) {
    auto ready = workers.ready(member.id);
    if (!ready && ready.error().code == Code::kNotFound) {
      return std::unexpected(std::move(ready).error());
    }
    if (ready) {
      device = std::move(ready->device);
      member.report.memory = ready->memory;
    } else {
      member.report.error = ready.error().what;
    }
  }
  return members;
}

// Prints at once which memory the processes hold, because they may hold it for ever.
void announce(const std::vector<Member>& members) {
  for (const Member& member : members) {
    if (!member.report.error.empty()) continue;
    fmt::print(stderr, "{} (pid {}) holds {} MiB\n", member.report.name, member.report.pid,
               member.report.memory.mib());
  }
}

Result<Outcome> run(PatternWish wish, std::string_view name) {
  ASSIGN_OR_RETURN(const auto workers, WorkerGroup::make());
  Outcome outcome;
  TRY(measure_speed(*workers, wish.load));
  ASSIGN_OR_RETURN(auto members, start_all(*workers, wish, name, outcome.device));
  if (wish.load.pattern == Pattern::kHold) announce(members);
  for (const Member& member : members) {
    if (member.report.error.empty()) workers->go(member.id);
  }
  for (const Member& member : members) {
    outcome.reports.push_back(member.report.error.empty() ? workers->report(member.id)
                                                          : member.report);
  }
  return outcome;
}

int run_pattern(const PatternWish& wish, std::string_view name) {
  const auto outcome = run(wish, name);
  if (!outcome) {
    fmt::print(stderr, "tranche-load: {}\n", outcome.error().message());
    return outcome.error().code == Code::kNotFound ? kNoGpu : kFinding;
  }
  fmt::print("{}", wish.format == "table" ? render_table(*outcome)
                                          : in_form(render_json(*outcome), wish.format));
  const bool good = std::ranges::all_of(outcome->reports,
                                        [](const Report& report) { return report.error.empty(); });
  return good ? kFine : kFinding;
}

// Managed memory moves to the host when the device is full, so "as much as it gets" has no end.
void check_memory(const Load& load) {
  if (load.all_memory && load.family == Family::kManaged) {
    throw CLI::ValidationError("--memory", "max goes with every family but managed");
  }
}

// The device's virtual time stands still while the host sleeps, so loads that sleep cannot use it.
void check_time(const Load& load) {
  const bool sleeps = load.pattern == Pattern::kLatency ? load.every.count() > 0 : load.duty < 100;
  if (load.time == TimeBase::kDevice && sleeps) {
    throw CLI::ValidationError("--time", "device goes with --every 0s and without --duty");
  }
}

struct PatternCommand {
  Pattern pattern;
  const char* name;
  const char* summary;
  const char* examples;
};

void add_pattern(CLI::App& app, const PatternCommand& command, int& exit_code) {
  const auto wish = std::make_shared<PatternWish>();
  Load& load = wish->load;
  load.pattern = command.pattern;
  CLI::App& sub = *app.add_subcommand(command.name, command.summary);
  sub.footer(command.examples);
  add_memory(sub, load);
  const bool works = load.pattern != Pattern::kHold;
  load.duration = std::chrono::seconds(works ? 10 : 0);
  add_duration(sub, "--duration", load.duration,
               works ? "How long; 0s: until ended [10s]" : "How long [until ended]");
  if (works) {
    const bool is_graph = std::string_view(command.name) == "graph";
    load.graph_nodes = is_graph ? 10 : 0;
    load.kernel = load.pattern == Pattern::kStorm     ? std::chrono::microseconds(200)
                  : load.pattern == Pattern::kLatency ? std::chrono::milliseconds(2)
                                                      : std::chrono::milliseconds(1);
    add_duration(sub, "--kernel", load.kernel,
                 load.pattern == Pattern::kStorm     ? "GPU time of a kernel [200us]"
                 : load.pattern == Pattern::kLatency ? "GPU time of a request's kernel [2ms]"
                                                     : "GPU time of a kernel [1ms]");
    sub.add_option("--nodes", load.graph_nodes,
                   is_graph ? "Kernels in the graph, one after the other [10]"
                            : "Launch CUDA graphs of so many kernels [0: kernels]");
    add_size(sub, "--scratch", load.scratch, "Allocate and free so much around each launch [0]");
    sub.add_option("--count", load.count, "End after so many launches [no such end]");
    add_kernels(sub, load);
  }
  if (load.pattern == Pattern::kCompute) {
    sub.add_option("--duty", load.duty, "Percent of the GPU's time that it wants [100]")
        ->check(CLI::Range(1, 100));
  }
  if (load.pattern == Pattern::kLatency) {
    load.every = std::chrono::milliseconds(10);
    add_duration(sub, "--every", load.every,
                 "A request is due so often; 0s: when the one before is answered [10ms]");
  }
  if (load.pattern == Pattern::kStorm) {
    sub.add_option("--depth", load.depth, "Launches kept queued [64]")
        ->check(CLI::Range(1U, kMostQueued));
  }
  sub.add_option("--processes", wish->processes, "So many of them, each with its context [1]")
      ->check(CLI::Range(1U, kMostProcesses));
  add_machine(sub, load);
  add_output(sub, wish->format);
  sub.callback([wish, name = command.name, &exit_code] {
    if (wish->load.kernel.count() <= 0) throw CLI::ValidationError("--kernel", "is not above 0");
    check_memory(wish->load);
    check_time(wish->load);
    exit_code = run_pattern(*wish, name);
  });
}

}  // namespace

void add_patterns(CLI::App& app, int& exit_code) {
  for (const PatternCommand& command : std::initializer_list<PatternCommand>{
           {Pattern::kHold, "hold", "Holds device memory until ended",
            "Examples:\n  tranche-load hold --memory 4Gi\n"
            "  tranche-load hold --memory max --duration 30s"},
           {Pattern::kCompute, "compute", "Kernels one after the other, at a duty",
            "Examples:\n  tranche-load compute --duration 10s\n"
            "  tranche-load compute --processes 2 --duty 50 --kernel 2ms -o json"},
           {Pattern::kCompute, "graph", "CUDA graphs one after the other",
            "Examples:\n  tranche-load graph --nodes 20\n"
            "  tranche-load graph --nodes 5 --kernel 100us --count 1000"},
           {Pattern::kLatency, "latency",
            "Requests that arrive by the clock, and how long their answers take",
            "Examples:\n  tranche-load latency --every 10ms --kernel 2ms\n"
            "  tranche-load latency --every 0s --duration 30s -o yaml"},
           {Pattern::kStorm, "storm", "Keeps as many kernels queued as it can",
            "Examples:\n  tranche-load storm --depth 64\n"
            "  tranche-load storm --kernel 200us --memory 1Gi --duration 0s"}}) {
    add_pattern(app, command, exit_code);
  }
}

}  // namespace tranche::load
