#include "agent/metrics/metrics_endpoint.h"

#include <fmt/format.h>

#include <utility>

#include "agent/metrics/node_usage_of.h"
#include "base/fs.h"
#include "http/compress.h"
#include "metrics/format.h"
#include "metrics/page.h"
#include "usage/node_usage_json.h"

namespace tranche::agent {
namespace {

constexpr std::size_t kMostConnections = 64;
constexpr unsigned kHandlers = 2;
constexpr std::size_t kMostBodyBytes = 1024;

}  // namespace

MetricsEndpoint::MetricsEndpoint(config::MetricsOptions options, Figures figures,
                                 const Clock& clock, const Log& log)
    : options_(std::move(options)),
      figures_(std::move(figures)),
      clock_(clock),
      gate_(options_.token_file, "metrics are refused to all", log),
      server_(
          {.name = "metrics",
           .verb = "are",
           .server = {.address = options_.address,
                      .port = options_.port,
                      .max_body_bytes = kMostBodyBytes,
                      .max_connections = kMostConnections,
                      .handlers = kHandlers},
           .tls_dir = options_.tls_dir},
          [this](const http::Request& request, const std::stop_token&) { return answer(request); },
          log) {}

http::Response MetricsEndpoint::answer(const http::Request& request) {
  if (!gate_.admits(request)) return {.status = 401, .body = "a bearer token is needed\n"};
  const bool is_usage = request.path == "/usage";
  if (!is_usage && request.path != "/metrics") {
    return {.status = 404, .body = "see /metrics and /usage\n"};
  }
  if (request.method != "GET") return {.status = 405, .body = "only GET\n"};
  const auto figures = figures_();
  if (figures == nullptr) {
    return {.status = 503, .body = "the GPUs have not been read yet; try again in a moment\n"};
  }
  auto response = is_usage ? usage(*figures) : page(request, *figures);
  http::compress(request, response);
  return response;
}

http::Response MetricsEndpoint::page(const http::Request& request,
                                     const metrics::NodeFigures& figures) const {
  const auto format = metrics::negotiate(request.accept);
  return {.body = metrics::page(
              figures, {.names = options_.names, .format = format, .version = TRANCHE_VERSION}),
          .content_type = std::string(metrics::content_type(format))};
}

http::Response MetricsEndpoint::usage(const metrics::NodeFigures& figures) const {
  return {.body = usage::to_json(node_usage_of(figures, clock_.wall_now(), TRANCHE_VERSION)) + '\n',
          .content_type = "application/json"};
}

}  // namespace tranche::agent
