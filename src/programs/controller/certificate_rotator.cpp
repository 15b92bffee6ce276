#include "controller/certificate_rotator.h"

#include <fmt/format.h>

#include <utility>

#include "config/programs/controller_options.h"
#include "controller/webhook_secret.h"

namespace tranche::controller {
namespace {

constexpr std::chrono::seconds kLongestCertificateCall{10};
// The only name in the queue.
constexpr const char* kCertificates = "the webhook's certificates";

Error explained(Error error, const std::string& what) {
  if (error.code == Code::kNotFound) {
    return {Code::kNotFound, fmt::format("{} is not there", what),
            "helm upgrade makes it; until then no Pod with a fraction of a GPU is admitted"};
  }
  return std::move(error).with_context(what);
}

}  // namespace

CertificateRotator::CertificateRotator(const WorkerContext& context, Options options)
    : context_(context),
      options_(std::move(options)),
      queue_(context.log, context.backoff,
             [this](const std::string&, const std::stop_token& stop) { return visit(stop); }),
      secrets_(context.watches,
               {.kind = cluster::kSecret,
                .selection = {.ns = options_.secret.ns,
                              .field_selector = "metadata.name=" + options_.secret.name}},
               [this](const cluster::CacheChange&) { queue_.ask(kCertificates); }),
      configurations_(context.watches,
                      {.kind = cluster::kMutatingWebhookConfiguration,
                       .selection = {.field_selector = "metadata.name=" + options_.configuration}},
                      [this](const cluster::CacheChange&) { queue_.ask(kCertificates); }) {
  if (options_.has_validating) {
    validating_.emplace(
        context.watches,
        Watched{.kind = cluster::kValidatingWebhookConfiguration,
                .selection = {.field_selector = "metadata.name=" + options_.configuration}},
        [this](const cluster::CacheChange&) { queue_.ask(kCertificates); });
  }
  queue_.ask(kCertificates);
  queue_.begin();
}

std::optional<std::string> CertificateRotator::trouble() const {
  return trouble_of({&secrets_, &configurations_, validating_ ? &*validating_ : nullptr});
}

Result<WorkQueue::Next> CertificateRotator::visit(const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto call, context_.call_while_leading(kLongestCertificateCall, stop));
  const auto name = fmt::format("Secret {}", options_.secret.to_string());
  auto secret = context_.objects.get(cluster::kSecret, options_.secret, call);
  if (!secret) return std::unexpected(explained(std::move(secret).error(), name));
  const auto keys = keys_of(*secret);
  // A new authority is published before a certificate that it signed is served. An unreadable
  // bundle is not published: the API server would refuse the patch, and the Secret would not be
  // repaired.
  const bool is_good = http::split_certificates(keys.authorities).has_value();
  if (is_good) TRY(publish(cluster::kMutatingWebhookConfiguration, keys.authorities, call));
  if (is_good && options_.has_validating) {
    TRY(publish(cluster::kValidatingWebhookConfiguration, keys.authorities, call));
  }
  ASSIGN_OR_RETURN(const auto change,
                   next_keys(keys, options_.rules, context_.clock.wall_now(), is_good));
  if (!change) return look_at_keys_every(options_.rules);
  const cluster::Patch patch{.type = cluster::PatchType::kMerge,
                             .json = patch_of(*secret, change->keys)};
  auto written = context_.objects.patch(cluster::kSecret, options_.secret, patch, call);
  if (!written) return std::unexpected(std::move(written).error().with_context(name));
  if (change->is_damaged) {
    context_.log.warn(
        fmt::format("{} was damaged: {}; nothing needs to be done", name, change->what));
  } else {
    context_.log.info(fmt::format("{}: {}", name, change->what));
  }
  return std::chrono::milliseconds(0);
}

Result<void> CertificateRotator::publish(const cluster::Kind& kind, const std::string& authorities,
                                         const cluster::Call& call) {
  const cluster::ObjectKey key{.ns = {}, .name = options_.configuration};
  const auto name = fmt::format("{} {}", kind.kind, key.name);
  auto now = context_.objects.get(kind, key, call);
  if (!now) return std::unexpected(explained(std::move(now).error(), name));
  ASSIGN_OR_RETURN(auto patch, trust_patch(*now, authorities));
  if (!patch) return {};
  auto written = context_.objects.patch(
      kind, key, {.type = cluster::PatchType::kJson, .json = *std::move(patch)}, call);
  if (!written) return std::unexpected(std::move(written).error().with_context(name));
  return {};
}

std::optional<WorkerPlan> plan_certificates(const config::ControllerOptions& options) {
  if (!options.webhook) return std::nullopt;
  const auto& webhook = *options.webhook;
  return WorkerPlan{.name = "certificates",
                    .needs_leadership = true,
                    .purposes = {"keeping the certificates of the webhook for fractions of GPUs"},
                    .start = starter<CertificateRotator>(
                        {.secret = {.ns = options.ns, .name = webhook.secret},
                         .configuration = webhook.configuration,
                         .has_validating = webhook.counts_shares,
                         .rules = {.hosts = webhook.hosts, .life = webhook.certificate_life}})};
}

}  // namespace tranche::controller
