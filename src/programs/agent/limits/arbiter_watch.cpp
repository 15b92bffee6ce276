#include "agent/limits/arbiter_watch.h"

#include <fmt/format.h>

#include <utility>

#include "process/liveness_file.h"

namespace tranche::agent {

ArbiterWatch::ArbiterWatch(std::filesystem::path arbiter_dir, Report report, const Clock& clock,
                           const Log& log)
    : arbiter_dir_(std::move(arbiter_dir)),
      report_(std::move(report)),
      clock_(clock),
      log_(log),
      away_since_(clock.now()) {}

void ArbiterWatch::look() {
  const auto lives = process::LivenessFile::check(arbiter_dir_ / process::LivenessFile::kArbiters,
                                                  clock_, "arbiter");
  const auto now = clock_.now();
  if (!lives) {
    lives_since_.reset();
    if (!away_since_) away_since_ = now;
  } else {
    if (!lives_since_) lives_since_ = now;
    if (now - *lives_since_ >= kSettled) away_since_.reset();
  }
  ConditionReport report{.type = cluster::condition::kTrancheArbiterRuns,
                         .good = !away_since_,
                         .reason = cluster::reason::kArbiterRuns,
                         .message = "the arbiter runs",
                         .action = "Limit",
                         .written_while_good = false};
  if (!away_since_) {
    if (std::exchange(told_, false)) log_.info("the arbiter runs again");
    return report_(report);
  }
  if (!told_ && now - *away_since_ < kPatience) return;
  report.reason = cluster::reason::kArbiterGone;
  report.message =
      "the arbiter does not run on this node: limits of memory hold, those of compute do not, and "
      "programs that start in limited containers get no GPU memory until it runs; look at its Pod "
      "(kubectl get pods -A -o wide -l app.kubernetes.io/component=arbiter) and its log";
  if (!std::exchange(told_, true)) {
    log_.warn(
        fmt::format("{}{}", report.message, lives ? "" : fmt::format(" ({})", lives.error().what)));
  }
  report_(report);
}

}  // namespace tranche::agent
