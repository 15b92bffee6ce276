#pragma once
// What the workers for shares of GPUs have in common: the cluster's GPUs, the templates, and what
// counting shares needs. Created before those workers and destroyed after them, so that the webhook
// keeps its knowledge when leadership changes.

#include <optional>

#include "admission/claim_template.h"
#include "config/programs/controller_options.h"
#include "controller/fleet_watch.h"
#include "controller/quota_watch.h"
#include "controller/quota_webhook.h"
#include "controller/share_book.h"
#include "controller/share_templates.h"
#include "controller/worker.h"

namespace tranche::controller {

struct ShareServices {
  // The context's references outlive it.
  ShareServices(const WorkerContext& context, const config::WebhookOptions& options);

  struct Counting {
    Counting(const WorkerContext& context, const FleetWatch& fleet,
             const admission::ClaimOptions& claim, const config::WebhookOptions& options);

    QuotaWatch quotas;
    ShareBook book;
    QuotaWebhook webhook;
  };

  const admission::ClaimOptions claim;  // what is claimed
  FleetWatch fleet;
  ShareTemplates templates;
  std::optional<Counting> counting;  // nullopt: shares are not counted
};

}  // namespace tranche::controller
