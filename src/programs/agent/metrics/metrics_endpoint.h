#pragma once
// Serves /metrics, and /usage (usage/v1), and keeps the port open (http/kept_server.h).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "config/programs/agent_options.h"
#include "http/kept_server.h"
#include "http/server.h"
#include "http/token_gate.h"
#include "metrics/node_figures.h"

namespace tranche::agent {

class MetricsEndpoint {
 public:
  using Figures = std::function<std::shared_ptr<const metrics::NodeFigures>()>;

  // `figures`: called by any thread, does not wait; null: there are none yet. `clock` and `log`
  // outlive this.
  MetricsEndpoint(config::MetricsOptions options, Figures figures, const Clock& clock,
                  const Log& log);

  void keep() { server_.keep(); }
  // 0: it is not open.
  std::uint16_t port() const { return server_.port(); }
  // Closes the port until the next keep().
  void close() { server_.close(); }

 private:
  http::Response answer(const http::Request& request);
  http::Response page(const http::Request& request, const metrics::NodeFigures& figures) const;
  http::Response usage(const metrics::NodeFigures& figures) const;

  const config::MetricsOptions options_;
  const Figures figures_;
  const Clock& clock_;
  http::TokenGate gate_;
  http::KeptServer server_;  // last: its threads use the others
};

}  // namespace tranche::agent
