#pragma once
// Keeps the webhook's certificates: makes them, renews them in time (webhook_keys.h), stores them
// in a Secret by compare-and-swap, and tells API servers whom to trust. The chart makes the Secret,
// empty, and the webhook configurations; a right to make Secrets would be a right to make tokens.
//
// A Secret that was damaged or emptied is made anew, with a warning. Only the leader writes; every
// replica serves what the Secret holds (fraction_webhook.h).
//
// Works over the port cluster::Objects on threads of its own. The destructor stops them.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/objects.h"
#include "cluster/watch_cache.h"
#include "controller/webhook_keys.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

class CertificateKeeper : public Worker {
 public:
  struct Options {
    cluster::ObjectKey secret;
    std::string configuration;  // the MutatingWebhookConfiguration
    // A ValidatingWebhookConfiguration of the same name is there too.
    bool has_validating = false;
    WebhookKeyRules rules;
    // How much longer this process may write. Nothing is begun when the time is over. Empty: for
    // ever.
    std::function<std::chrono::milliseconds()> time_left = {};
    Backoff watch_backoff = {};
    Backoff backoff = {};
  };

  // The references outlive it.
  CertificateKeeper(cluster::Objects& objects, Options options, const Clock& clock, const Log& log);
  CertificateKeeper(const CertificateKeeper&) = delete;
  CertificateKeeper& operator=(const CertificateKeeper&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  Result<WorkQueue::Next> visit(const std::stop_token& stop);
  Result<void> publish(const cluster::Kind& kind, const std::string& authorities,
                       const cluster::Call& call);

  cluster::Objects& objects_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  WorkQueue queue_;
  // Last: their threads ask the queue.
  cluster::WatchCache secrets_;
  cluster::WatchCache configurations_;
  std::optional<cluster::WatchCache> validating_;
};

// The worker's context sets `options.time_left`.
WorkerPlan plan_certificates(CertificateKeeper::Options options);

}  // namespace tranche::controller
