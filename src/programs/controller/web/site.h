#pragma once
// What the controller answers to people and to Prometheus:
//
//     GET /v1/fleet   fleet/v1, with a bearer token of the cluster (docs/web.md)
//     GET /metrics    the cluster's series (docs/metrics.md)
//     GET /           the page, and its parts
//     GET /healthz    200
//
// The token stands in `Authorization`, or in `X-Tranche-Token`: the API server's service proxy
// keeps the first to itself. Every answer has headers by which browsers load nothing from
// elsewhere.
//
// Thread-safe.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "controller/web/access.h"
#include "controller/web/fleet_metrics.h"
#include "controller/web/rate_limit.h"
#include "fleet/fleet.h"
#include "http/server.h"
#include "http/token_gate.h"
#include "metrics/format.h"

namespace tranche::controller {

// A part of the page.
struct SitePart {
  std::string_view content_type;
  std::string_view body;
  std::string_view etag;
};

class Site {
 public:
  struct Ports {
    // The fleet now. kUnavailable: the cluster has not been read yet.
    std::function<Result<fleet::Fleet>()> fleet;
    // nullopt: this controller does not lead. kUnavailable: as above.
    std::function<Result<std::optional<FleetFigures>>()> figures;
    std::function<std::optional<SitePart>(std::string_view path)> part;
  };

  // `token_file`: of /metrics; "": anybody reads them. The references outlive this.
  Site(Ports ports, Access& access, const std::string& token_file, const Clock& clock,
       const Log& log);

  http::Response answer(const http::Request& request, const std::stop_token& stop);

  // How often one token may ask, and one address with tokens that are not known yet.
  static constexpr double kPerSecond = 2;
  static constexpr double kBurst = 20;
  // Of /v1/fleet at once, so that others are answered while the API server hangs. Those whose
  // tokens are not known take no reader's place.
  static constexpr int kMostReadersAtOnce = 4;
  static constexpr int kMostStrangersAtOnce = 2;
  static constexpr std::chrono::seconds kFleetKept{1};
  static constexpr std::chrono::seconds kPageKept{1};  // /metrics
  static constexpr std::size_t kMostTexts = 8;  // of one fleet, for readers who see different names

 private:
  struct Text {
    std::string plain;
    std::string packed;  // gzip
  };
  struct Made {
    std::chrono::steady_clock::time_point at;
    std::shared_ptr<const fleet::Fleet> fleet;
    std::map<std::string, std::shared_ptr<const Text>> texts{};  // by what is seen
  };

  struct Page {
    std::chrono::steady_clock::time_point at;
    std::string text;  // empty: not made yet
  };

  http::Response route(const http::Request& request, const std::stop_token& stop);
  http::Response fleet(const http::Request& request, const std::stop_token& stop);
  http::Response fleet_of(const http::Request& request, const std::string& token,
                          const std::stop_token& stop);
  http::Response metrics(const http::Request& request);
  Result<std::string> page_now(tranche::metrics::Format format);
  http::Response part(const http::Request& request) const;
  Result<std::shared_ptr<const fleet::Fleet>> fleet_now();
  std::shared_ptr<const Text> text_of(const std::shared_ptr<const fleet::Fleet>& fleet,
                                      const Access::Sight& sight);

  const Ports ports_;
  Access& access_;
  const Clock& clock_;
  const Log& log_;
  http::TokenGate gate_;
  RateLimit readers_{kPerSecond, kBurst};
  RateLimit strangers_{kPerSecond, kBurst};
  std::atomic<int> readers_under_way_ = 0;
  std::atomic<int> strangers_under_way_ = 0;
  std::mutex mutex_;
  Made made_;  // guarded by mutex_
  std::mutex pages_mutex_;
  std::map<tranche::metrics::Format, Page> pages_;  // guarded by pages_mutex_
};

}  // namespace tranche::controller
