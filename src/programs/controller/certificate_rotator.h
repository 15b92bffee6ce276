#pragma once
// Creates and renews the webhook's certificates (webhook_keys.h), stores them in a Secret by
// compare-and-swap, and writes the CA bundle into the webhook configurations. The chart creates the
// Secret, empty, and the configurations: a right to create Secrets would be a right to create
// tokens.
//
// A damaged or emptied Secret is filled anew, with a warning. Only the leader writes; every replica
// serves what the Secret holds (fraction_webhook.h).

#include <optional>
#include <string>

#include "controller/webhook_keys.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

class CertificateRotator : public Worker {
 public:
  struct Options {
    cluster::ObjectKey secret;
    std::string configuration;  // the MutatingWebhookConfiguration
    // There is also a ValidatingWebhookConfiguration of the same name.
    bool has_validating = false;
    WebhookKeyRules rules;
  };

  CertificateRotator(const WorkerContext& context, Options options);
  CertificateRotator(const CertificateRotator&) = delete;
  CertificateRotator& operator=(const CertificateRotator&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  Result<WorkQueue::Next> visit(const std::stop_token& stop);
  Result<void> publish(const cluster::Kind& kind, const std::string& authorities,
                       const cluster::Call& call);

  const WorkerContext context_;
  const Options options_;
  WorkQueue queue_;
  // Last: their threads use the queue.
  Watch secrets_;
  Watch configurations_;
  std::optional<Watch> validating_;
};

std::optional<WorkerPlan> plan_certificates(const config::ControllerOptions& options);

}  // namespace tranche::controller
