#pragma once
// Serves /metrics, and /usage (usage/v1), and keeps the port open: what does not work (a port in
// use, a certificate that is not there yet) is logged once, and tried again at each keep().
//
// keep() is called by one thread, about every second.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/said_once.h"
#include "config/programs/agent_options.h"
#include "http/bearer_token.h"
#include "http/certificate_files.h"
#include "http/server.h"
#include "metrics/node_figures.h"

namespace tranche::agent {

class MetricsEndpoint {
 public:
  using Figures = std::function<std::shared_ptr<const metrics::NodeFigures>()>;

  // `figures`: called by any thread, does not wait; null: there are none yet. `clock` and `log`
  // outlive this.
  MetricsEndpoint(config::MetricsOptions options, Figures figures, const Clock& clock,
                  const Log& log);

  void keep();
  // 0: it is not open.
  std::uint16_t port() const { return server_ == nullptr ? std::uint16_t{0} : server_->port(); }
  // Closes the port until the next keep().
  void close() { server_.reset(); }

 private:
  Result<void> open();
  void tell(std::string_view topic, const std::string& text);
  Result<void> renew_certificate();
  http::Response answer(const http::Request& request);
  http::Response page(const http::Request& request, const metrics::NodeFigures& figures) const;
  http::Response usage(const metrics::NodeFigures& figures) const;

  const config::MetricsOptions options_;
  const Figures figures_;
  const Clock& clock_;
  const Log& log_;
  SaidOnce said_;
  std::optional<http::BearerToken> token_;
  std::optional<http::CertificateFiles> certificate_;
  std::unique_ptr<http::Server> server_;  // last: its threads use the others
};

}  // namespace tranche::agent
