#include "controller/certificate_keeper.h"

#include <fmt/format.h>

#include <utility>

#include "controller/webhook_secret.h"

namespace tranche::controller {
namespace {

constexpr std::chrono::seconds kLongestCertificateCall{10};
// The one name in the queue.
constexpr const char* kCertificates = "the webhook's certificates";

Error explained(Error error, const std::string& what) {
  if (error.code == Code::kNotFound) {
    return {Code::kNotFound, fmt::format("{} is not there", what),
            "helm upgrade makes it; until then no Pod with a fraction of a GPU is admitted"};
  }
  return std::move(error).with_context(what);
}

}  // namespace

CertificateKeeper::CertificateKeeper(cluster::Objects& objects, Options options, const Clock& clock,
                                     const Log& log)
    : objects_(objects),
      options_(std::move(options)),
      clock_(clock),
      log_(log),
      queue_(log, options_.backoff,
             [this](const std::string&, const std::stop_token& stop) { return visit(stop); }),
      secrets_(
          objects,
          {.kind = cluster::kSecret,
           .selection = {.ns = options_.secret.ns,
                         .field_selector = "metadata.name=" + options_.secret.name},
           .backoff = options_.watch_backoff},
          [this](const cluster::CacheChange&) { queue_.ask(kCertificates); }, log),
      configurations_(
          objects,
          {.kind = cluster::kMutatingWebhookConfiguration,
           .selection = {.field_selector = "metadata.name=" + options_.configuration},
           .backoff = options_.watch_backoff},
          [this](const cluster::CacheChange&) { queue_.ask(kCertificates); }, log) {
  if (options_.has_validating) {
    validating_.emplace(
        objects,
        cluster::WatchCache::Options{
            .kind = cluster::kValidatingWebhookConfiguration,
            .selection = {.field_selector = "metadata.name=" + options_.configuration},
            .backoff = options_.watch_backoff},
        [this](const cluster::CacheChange&) { queue_.ask(kCertificates); }, log);
  }
  queue_.ask(kCertificates);
}

std::optional<std::string> CertificateKeeper::trouble() const {
  for (const auto* cache : {&secrets_, &configurations_, validating_ ? &*validating_ : nullptr}) {
    if (cache == nullptr) continue;
    if (const auto failure = cache->failure()) return failure->message();
    if (!cache->synced()) return "the API server has not answered yet";
  }
  return std::nullopt;
}

Result<WorkQueue::Next> CertificateKeeper::visit(const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto call,
                   call_while_leading(kLongestCertificateCall, options_.time_left, stop));
  const auto name = fmt::format("Secret {}", options_.secret.to_string());
  auto secret = objects_.get(cluster::kSecret, options_.secret, call);
  if (!secret) return std::unexpected(explained(std::move(secret).error(), name));
  const auto keys = keys_of(*secret);
  // A new authority is published before anything of its is served. What cannot be read is not: an
  // API server would refuse it, and the Secret would stay as it is.
  const bool is_good = http::split_certificates(keys.authorities).has_value();
  if (is_good) TRY(publish(cluster::kMutatingWebhookConfiguration, keys.authorities, call));
  if (is_good && options_.has_validating) {
    TRY(publish(cluster::kValidatingWebhookConfiguration, keys.authorities, call));
  }
  ASSIGN_OR_RETURN(const auto change, next_keys(keys, options_.rules, clock_.wall_now(), is_good));
  if (!change) return look_at_keys_every(options_.rules);
  const cluster::Patch patch{.type = cluster::PatchType::kMerge,
                             .json = patch_of(*secret, change->keys)};
  auto written = objects_.patch(cluster::kSecret, options_.secret, patch, call);
  if (!written) return std::unexpected(std::move(written).error().with_context(name));
  if (change->is_damaged) {
    log_.warn(fmt::format("{} was damaged: {}; nothing needs to be done", name, change->what));
  } else {
    log_.info(fmt::format("{}: {}", name, change->what));
  }
  return std::chrono::milliseconds(0);
}

Result<void> CertificateKeeper::publish(const cluster::Kind& kind, const std::string& authorities,
                                        const cluster::Call& call) {
  const cluster::ObjectKey key{.ns = {}, .name = options_.configuration};
  const auto name = fmt::format("{} {}", kind.kind, key.name);
  auto now = objects_.get(kind, key, call);
  if (!now) return std::unexpected(explained(std::move(now).error(), name));
  ASSIGN_OR_RETURN(auto patch, trust_patch(*now, authorities));
  if (!patch) return {};
  auto written = objects_.patch(
      kind, key, {.type = cluster::PatchType::kJson, .json = *std::move(patch)}, call);
  if (!written) return std::unexpected(std::move(written).error().with_context(name));
  return {};
}

WorkerPlan plan_certificates(CertificateKeeper::Options options) {
  return {.name = "certificates",
          .needs_leadership = true,
          .purpose = "keeping the certificates of the webhook for fractions of GPUs",
          .start = starter<CertificateKeeper>(std::move(options))};
}

}  // namespace tranche::controller
