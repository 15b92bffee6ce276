#pragma once
// Reads what changes all the time on this node, and keeps the last figures for whoever asks: fast
// figures and processes at each call, slow ones and samples of processes at each kSlowEvery-th. No
// figure is shown that is older than kLongest; where the driver hangs, those of its GPUs go
// missing.
//
// sample() is called by one thread, about every second; it may take as long as the driver's
// deadline. follow() and figures() may be called by any thread, and never wait.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/holdings/book.h"
#include "agent/limits/living_arbiter.h"
#include "agent/loop/state.h"
#include "agent/metrics/attribution.h"
#include "agent/metrics/usage_history.h"
#include "base/clock.h"
#include "base/fs.h"
#include "cluster/pod.h"
#include "gpu/process_reader.h"
#include "gpu/telemetry.h"
#include "host/process_owners.h"
#include "metrics/node_figures.h"
#include "offer/offer.h"

namespace tranche::agent {

class NodeSampler {
 public:
  struct Ports {
    gpu::TelemetryReader& telemetry;
    gpu::ProcessReader& processes;
    const Book& book;
    // Enters kubelet's answer in the book; false: it did not answer.
    std::function<bool()> ask_kubelet;
    // Those of the node; null: unknown. Empty: nobody may read them.
    std::function<std::shared_ptr<const std::vector<cluster::Pod>>()> pods;
    // Sets the tiers of containers; empty: none is known.
    std::function<void(std::vector<usage::ContainerFigures>&, const gpu::Machine&)> set_tiers;
    FsRoot host;                        // for /proc
    std::filesystem::path arbiter_dir;  // empty: there is no arbiter
    std::string node;
    const Clock& clock;
  };
  static constexpr unsigned kSlowEvery = 10;
  static constexpr std::chrono::seconds kLongest{30};

  explicit NodeSampler(Ports ports);

  void follow(const State& state, std::shared_ptr<const offer::Offer> offer);
  void sample();
  // null: nothing was sampled yet. Ages are those at the call.
  std::shared_ptr<const metrics::NodeFigures> figures() const;
  // Those of the last sample, without a copy of its figures; empty: nothing was sampled yet.
  std::vector<usage::Check> checks() const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  template <class Reading>
  struct Timed {
    Reading reading;
    TimePoint at;
  };
  struct Seen {
    gpu::Machine machine;
    std::map<std::string, std::uint64_t> xids;
    std::optional<metrics::Configuration> configuration;
    std::shared_ptr<const offer::Offer> offer;
  };
  struct Made {
    metrics::NodeFigures figures;
    TimePoint at;
    std::optional<TimePoint> fast_at{};  // of the oldest reading in it
    std::optional<TimePoint> slow_at{};
  };

  // What is held, joined with its Pods, and of what it was made.
  struct Joined {
    std::shared_ptr<const std::vector<cluster::Pod>> pods;
    GrantEntries::Shared granted;
    GrantEntries::Shared ungranted;
    std::vector<holdings::Holding> claimed{};
    holdings::Holdings held{};
  };

  const holdings::Holdings& join(std::shared_ptr<const std::vector<cluster::Pod>> pods);
  void read_fast(const gpu::Machine& machine);
  void read_slow(const gpu::Machine& machine);
  bool read_processes(const gpu::Machine& machine);
  Made make(const Seen& seen, std::vector<usage::Check> checks, bool kubelet_answers);
  void forget_old(TimePoint now);
  static void withdraw(metrics::NodeFigures& figures);

  const Ports ports_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const Seen> seen_;  // null: the hardware was not read yet
  std::shared_ptr<const Made> made_;

  unsigned turn_ = 0;
  Joined joined_;
  host::ProcessOwners owners_;
  UsageHistory history_;
  LivingArbiter arbiter_;
  bool arbiter_runs_ = false;
  bool groups_tell_ = true;  // the control group of each process says whose it is
  std::map<std::string, Timed<gpu::FastReading>> fast_;  // by GPU
  std::map<std::string, Timed<gpu::SlowReading>> slow_;
  std::map<std::string, std::vector<OwnedProcess>> processes_;  // by device, of the last reading
  std::optional<TimePoint> processes_at_;                       // of it
  std::chrono::nanoseconds since_last_{0};                      // from the one before to it
};

}  // namespace tranche::agent
