#pragma once
// Serves the cluster's page, /v1/fleet and /metrics (web/site.h). Every controller serves, so that
// any of them answers people. The cluster's series are those of the one that leads, so that no sum
// counts them twice. Agents are asked by whom people ask.

#include <optional>
#include <string>

#include "config/programs/web_options.h"
#include "controller/fleet_facts.h"
#include "controller/web/access.h"
#include "controller/web/collector.h"
#include "controller/web/site.h"
#include "controller/worker.h"
#include "http/kept_server.h"
#include "process/periodic.h"

namespace tranche::controller {

class ClusterWeb : public Worker {
 public:
  struct Options {
    config::WebOptions web;
    std::string ns;  // of the release
  };

  ClusterWeb(const WorkerContext& context, Options options);
  ClusterWeb(const ClusterWeb&) = delete;
  ClusterWeb& operator=(const ClusterWeb&) = delete;

  std::optional<std::string> trouble() const override;
  // 0: it does not listen yet.
  std::uint16_t port() const { return server_.port(); }
  http::Response answer(const http::Request& request, const std::stop_token& stop) {
    return site_.answer(request, stop);
  }

 private:
  Result<fleet::Fleet> fleet();
  Result<std::optional<FleetFigures>> figures() const;
  Result<std::string> ask(const AgentPlace& place, std::chrono::milliseconds longest,
                          const std::stop_token& stop) const;

  const WorkerContext context_;
  const Options options_;
  FleetFacts facts_;
  Access access_;
  Collector collector_;
  Site site_;
  http::KeptServer server_;
  process::Periodic keep_;  // last: its thread uses the others
};

// Where --web-address is given.
std::optional<WorkerPlan> plan_cluster_web(const config::ControllerOptions& options);

}  // namespace tranche::controller
