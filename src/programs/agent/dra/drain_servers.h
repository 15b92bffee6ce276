#pragma once
// Has claims undone that were prepared under a driver's name that nobody serves any more: DRA was
// turned off, or the driver has another name. Kubelet ends a Pod only when a driver of the recorded
// name has undone its claims. For each such name a server is registered with kubelet, which
// prepares nothing, until the last of its claims has ended.
//
// It registers kWipe after it is asked to: by then kubelet has deleted the name's ResourceSlices,
// because nobody had registered it for 30 s. So the scheduler gives out nothing of them any more,
// and this agent needs no permission for slices. Until then kubelet retries.
//
// Used on one thread, but for what says otherwise.

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/dra/claim_preparer.h"
#include "base/clock.h"
#include "base/log.h"
#include "dra/server.h"

namespace tranche::agent {

class DrainServers {
 public:
  using Start = std::function<Result<std::unique_ptr<dra::Server>>(
      const std::string& name, dra::Driver& driver, const dra::HealthBoard& health)>;
  struct Ports {
    ClaimPreparer& preparer;
    Start start;  // a server that is registered under that name
    const Clock& clock;
    const Log& log;
  };
  // Kubelet's time is 30 s.
  static constexpr std::chrono::seconds kWipe{40};
  // How long a name stays registered after its last claim: kubelet may not have heard the answer
  // yet, or may know of a claim that was never prepared.
  static constexpr std::chrono::seconds kLinger{60};

  explicit DrainServers(Ports ports) : ports_(std::move(ports)), driver_(ports_.preparer) {}
  ~DrainServers() { stop(); }

  // `names`: of the drivers of prepared claims that are to be served. To be repeated every few
  // seconds while there are any, or is_idle() is false. An error: a server could not be started.
  Result<void> look(const std::set<std::string>& names);
  // From any thread.
  bool is_idle() const { return idle_; }
  // Serves no name any more. Not during look().
  void close() { names_.clear(); }
  // Calls of kubelet that wait return. From any thread.
  void stop() { health_.stop(); }

 private:
  class Driver final : public dra::Driver {
   public:
    explicit Driver(ClaimPreparer& preparer) : preparer_(preparer) {}
    Result<dra::PreparedClaim> prepare(const dra::ClaimName& name) override {
      return preparer_.prepare_again(name);
    }
    Result<void> unprepare(const dra::ClaimName& name) override {
      return preparer_.unprepare(name);
    }

   private:
    ClaimPreparer& preparer_;
  };
  struct Name {
    std::chrono::steady_clock::time_point begin;   // of serving
    std::chrono::steady_clock::time_point wanted;  // for the last time
    std::unique_ptr<dra::Server> server = {};
  };

  const Ports ports_;
  Driver driver_;
  dra::HealthBoard health_;
  std::map<std::string, Name> names_;
  std::atomic<bool> idle_ = true;
};

}  // namespace tranche::agent
