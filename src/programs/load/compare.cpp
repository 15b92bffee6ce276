#include "load/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/fs.h"

namespace tranche::load {
namespace {

constexpr std::array kTroubles = {std::pair{Trouble::kMemory, std::string_view("memory")},
                                  std::pair{Trouble::kKill, std::string_view("kill")},
                                  std::pair{Trouble::kFault, std::string_view("fault")}};
constexpr const char* kCritical = "latency";

std::string neighbour_role(unsigned number) { return fmt::format("neighbour-{}", number + 1); }

// `load` under the name of `role`.
Load as(Load load, const std::string& role) {
  load.name = role;
  return load;
}

class Comparer {
 public:
  Comparer(WorkerGroup& workers, Scenario scenario)
      : workers_(workers), scenario_(std::move(scenario)) {}

  Result<Comparison> run() {
    TRY(probe());
    TRY(alone());
    for (const Mechanism mechanism : scenario_.mechanisms) {
      ASSIGN_OR_RETURN(auto result, run(mechanism));
      out_.results.push_back(std::move(result));
    }
    return std::move(out_);
  }

 private:
  struct Started {
    std::string name;
    WorkerGroup::Id id = 0;
    std::string error;  // why it did not start to work; empty: it did
  };

  Surroundings surroundings(const std::string& role) const {
    return surroundings_of(mechanism_, scenario_.options, role);
  }

  Result<void> not_interrupted() const {
    if (!workers_.is_interrupted()) return {};
    return fail(Code::kFailedPrecondition, "interrupted");
  }

  // Asks for the device, and measures the speed of the busy kernel while the GPU is idle.
  Result<void> probe() {
    Load load = as(scenario_.request, "probe");
    load.pattern = Pattern::kProbe;
    ASSIGN_OR_RETURN(const WorkerGroup::Id id, workers_.start(load, surroundings(kCritical)));
    ASSIGN_OR_RETURN(Ready ready, workers_.ready(id));
    workers_.go(id);
    workers_.report(id);
    for (Load* one : {&scenario_.request, &scenario_.neighbour, &scenario_.victim}) {
      one->rounds_per_us = ready.device.rounds_per_us;
    }
    out_.device = std::move(ready.device);
    return not_interrupted();
  }

  Started start(const Load& load) {
    Started started{.name = load.name};
    const auto id = workers_.start(load, surroundings(load.name));
    if (!id) {
      started.error = id.error().message();
      return started;
    }
    started.id = *id;
    if (const auto ready = workers_.ready(*id); !ready) {
      started.error = "does not start: " + ready.error().what;
    }
    return started;
  }

  void go(const Started& started) {
    if (started.error.empty()) workers_.go(started.id);
  }

  Report report(const Started& started) {
    if (started.error.empty()) return workers_.report(started.id);
    return {.name = started.name, .error = started.error};
  }

  Result<void> alone() {
    for (const auto& [load, report_of] :
         {std::pair{as(scenario_.request, kCritical), &out_.request_alone},
          std::pair{as(scenario_.neighbour, neighbour_role(0)), &out_.neighbour_alone}}) {
      const Started started = start(load);
      go(started);
      *report_of = report(started);
      TRY(not_interrupted());
    }
    return {};
  }

  Result<MechanismResult> run(Mechanism mechanism) {
    mechanism_ = mechanism;
    MechanismResult result{.mechanism = mechanism};
    std::vector<std::string> roles = {kCritical};
    for (unsigned i = 0; i < scenario_.neighbours; ++i) roles.push_back(neighbour_role(i));
    auto there = check(mechanism, scenario_.options, out_.device, roles);
    if (there) there = try_out(roles);
    TRY(not_interrupted());
    if (!there) {
      result.unavailable = there.error().message();
      return result;
    }
    run_beside(result);
    for (const Trouble trouble : scenario_.troubles) {
      TRY(not_interrupted());
      result.troubles.push_back(run_trouble(trouble));
    }
    TRY(not_interrupted());
    return result;
  }

  // Checks that a process of each role starts under the mechanism and gets memory. Under limits,
  // its process must have loaded the limiter too. Else the figures would belong to another
  // mechanism.
  Result<void> try_out(const std::vector<std::string>& roles) {
    for (const std::string& role : roles) {
      Load load = as(scenario_.request, role);
      load.pattern = Pattern::kHold;
      load.memory = Bytes::from_mib(2);
      const Started started = start(load);
      const bool is_in = started.error.empty() && is_limited_as_wanted(started.id);
      if (started.error.empty()) workers_.tell_to_stop(started.id);
      report(started);
      if (!started.error.empty()) {
        return fail(Code::kFailedPrecondition, fmt::format("{} {}", role, started.error));
      }
      if (!is_in) {
        return fail(Code::kFailedPrecondition,
                    fmt::format("{} does not load {}", role, scenario_.options.limit_library),
                    "is it of this machine's architecture?");
      }
    }
    return {};
  }

  bool is_limited_as_wanted(WorkerGroup::Id id) const {
    if (mechanism_ != Mechanism::kLimits) return true;
    const auto maps = FsRoot().read(fmt::format("/proc/{}/maps", workers_.pid(id)), 16U << 20U);
    const auto name = std::filesystem::path(scenario_.options.limit_library).filename().string();
    return maps && maps->find("/" + name) != std::string::npos;
  }

  // No process works before all have their memory and kernels.
  void run_beside(MechanismResult& result) {
    const Started critical = start(as(scenario_.request, kCritical));
    std::vector<Started> neighbours;
    neighbours.reserve(scenario_.neighbours);
    for (unsigned i = 0; i < scenario_.neighbours; ++i) {
      neighbours.push_back(start(as(scenario_.neighbour, neighbour_role(i))));
    }
    for (const Started& one : neighbours) go(one);
    go(critical);
    result.request = report(critical);
    for (const Started& one : neighbours) result.neighbours.push_back(report(one));
  }

  // The victim works before, during and after the trouble.
  TroubleResult run_trouble(Trouble trouble) {
    TroubleResult result{.trouble = trouble};
    Load victim_load = as(scenario_.victim, kCritical);
    victim_load.duration = nanoseconds(0);
    const Started victim = start(victim_load);
    go(victim);
    const Started offender = start(offender_load(trouble));
    go(offender);
    workers_.sleep(scenario_.victim.duration / 2);
    if (trouble == Trouble::kKill && offender.error.empty()) workers_.kill(offender.id);
    if (trouble != Trouble::kMemory) result.offender = report(offender);
    workers_.sleep(scenario_.victim.duration / 2);
    if (victim.error.empty()) workers_.tell_to_stop(victim.id);
    result.victim = report(victim);
    if (trouble == Trouble::kMemory) {
      if (offender.error.empty()) workers_.tell_to_stop(offender.id);
      result.offender = report(offender);
    }
    return result;
  }

  Load offender_load(Trouble trouble) const {
    Load load = as(scenario_.neighbour, neighbour_role(0));
    load.duration = nanoseconds(0);
    load.count = 0;
    if (trouble == Trouble::kMemory) {
      load.pattern = Pattern::kHold;
      load.all_memory = true;
    }
    if (trouble == Trouble::kFault) load.pattern = Pattern::kFault;
    return load;
  }

  WorkerGroup& workers_;
  Scenario scenario_;
  Mechanism mechanism_ = Mechanism::kTimeSlicing;
  Comparison out_;
};

}  // namespace

std::string_view name_of(Trouble trouble) {
  return std::ranges::find(kTroubles, trouble, &decltype(kTroubles)::value_type::first)->second;
}

Result<std::vector<Trouble>> parse_troubles(std::string_view text) {
  std::vector<Trouble> out;
  if (text == "none") return out;
  for (;;) {
    const auto comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const auto found = std::ranges::find(kTroubles, word, &decltype(kTroubles)::value_type::second);
    if (found == kTroubles.end()) {
      return fail(Code::kInvalidArgument, fmt::format("no trouble '{}'", word),
                  "there are memory, kill, fault and none");
    }
    if (std::ranges::find(out, found->first) == out.end()) out.push_back(found->first);
    if (comma == text.npos) return out;
    text.remove_prefix(comma + 1);
  }
}

Result<Comparison> compare(WorkerGroup& workers, Scenario scenario) {
  return Comparer(workers, std::move(scenario)).run();
}

}  // namespace tranche::load
