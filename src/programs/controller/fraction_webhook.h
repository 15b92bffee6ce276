#pragma once
// The admission webhook for fractions of GPUs: it answers a Pod or a workload with its rewritten
// form (admission/review.h). A ResourceClaimTemplate exists before an answer names it; a dry run
// creates none. Every replica of the controller serves, with the certificate that the Secret holds
// (certificate_rotator.h).
//
//     POST /fractions   AdmissionReview
//     POST /quota       the same, where Options::review_claim is given (quota_webhook.h)
//     GET  /readyz      200 once it has a certificate and knows the cluster's GPUs
//     GET  /healthz     200

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "admission/claim_template.h"
#include "admission/review.h"
#include "controller/fleet_watch.h"
#include "controller/share_templates.h"
#include "controller/work_queue.h"
#include "controller/worker.h"
#include "http/server.h"

namespace tranche::controller {

class FractionWebhook : public Worker {
 public:
  struct Options {
    std::string address;  // http::Server::Options
    std::uint16_t port = 0;
    cluster::ObjectKey secret;
    admission::ClaimOptions claim = {};
    // Templates of one namespace before further ones are refused: nobody needs so many different
    // shares.
    std::size_t most_templates = 500;
    // Answers POST /quota.
    std::function<http::Response(const std::string& body, const std::stop_token&)> review_claim =
        {};
  };

  FractionWebhook(const WorkerContext& context, const FleetWatch& fleet, ShareTemplates& templates,
                  Options options);
  FractionWebhook(const FractionWebhook&) = delete;
  FractionWebhook& operator=(const FractionWebhook&) = delete;

  std::optional<std::string> trouble() const override;
  // The port it listens on; 0: not yet.
  std::uint16_t port() const;
  // What the server answers to a request.
  http::Response answer(const http::Request& request, const std::stop_token& stop);

 private:
  http::Response review(const std::string& body, const std::stop_token& stop);
  Result<admission::Rewritten> decide(const admission::Review& review, const std::stop_token& stop);
  Result<void> make_templates(const std::string& ns,
                              const std::vector<admission::ClaimTemplate>& wanted,
                              const std::stop_token& stop);
  Result<void> has_room(const std::string& ns) const;
  Result<void> listen();
  void take_secret(const cluster::CacheChange& change);
  void use_certificate();

  const WorkerContext context_;
  const FleetWatch& fleet_;
  ShareTemplates& templates_;
  const Options options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<http::Certificate> certificate_;
  std::string flaw_;  // why the certificate cannot be served; empty: it is served
  std::unique_ptr<http::Server> server_;
  // Last: their threads use the others.
  WorkQueue queue_;
  Watch secrets_;
};

std::optional<WorkerPlan> plan_fraction_webhook(const config::ControllerOptions& options);

}  // namespace tranche::controller
