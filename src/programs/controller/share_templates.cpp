#include "controller/share_templates.h"

#include <fmt/format.h>

#include <utility>

#include "admission/names.h"
#include "base/checksum.h"
#include "base/json.h"
#include "base/json_value.h"

namespace tranche::controller {
namespace {

using admission::ClaimTemplate;

constexpr std::string_view kMadeOf = "tranche.dev/gpu-template";
// Two writers may replace a template at the same moment.
constexpr int kTemplateAttempts = 3;

std::string mark_of(const ClaimTemplate& wanted) {
  // The suffix is the version of what we add: templates of an older version are replaced.
  return fmt::format("{:016x}-2", checksum(wanted.json));
}

std::string text_in(const cluster::Object& object, std::string_view map, std::string_view key) {
  const auto root = json::parse(object.json);
  const auto value = root ? root->at({"metadata", map, key}) : std::nullopt;
  return value ? value->as_string().value_or("") : "";
}

Result<std::string> text_of(const ClaimTemplate& wanted) {
  ASSIGN_OR_RETURN(const auto view, json::parse(wanted.json));
  auto object = json::Value::copy(view);
  object["metadata"]["annotations"][kMadeOf] = mark_of(wanted);
  // Kubernetes copies it to each claim. A label and not an annotation: kube-controller-manager
  // (1.36) writes its own annotation of a claim into the template's annotation map, from several
  // threads.
  object["spec"]["metadata"]["labels"][kMadeOf] = mark_of(wanted);
  return object.text();
}

}  // namespace

Result<std::string> claim_text(const ClaimTemplate& wanted, const ClaimedFor& pod) {
  ASSIGN_OR_RETURN(const auto view, json::parse(wanted.json));
  const auto spec = view.at({"spec", "spec"});
  const auto labels = view.at({"spec", "metadata", "labels"});
  if (!spec || !labels) return fail(Code::kInternal, "a template without a spec");
  json::Value claim = json::Value::object();
  claim["apiVersion"] = cluster::kResourceClaim.api_version();
  claim["kind"] = cluster::kResourceClaim.kind;
  auto& metadata = claim["metadata"];
  metadata["name"] = pod.claim;
  metadata["annotations"]["resource.kubernetes.io/pod-claim-name"] = pod.pod_claim;
  metadata["labels"] = json::Value::copy(*labels);
  metadata["labels"][kMadeOf] = mark_of(wanted);
  metadata["ownerReferences"].push_back(json::Value{{"apiVersion", "v1"},
                                                    {"kind", "Pod"},
                                                    {"name", pod.pod},
                                                    {"uid", pod.pod_uid},
                                                    {"controller", true}});
  claim["spec"] = json::Value::copy(*spec);
  return claim.text();
}

bool is_made_of(const cluster::Object& object, const ClaimTemplate& wanted) {
  const auto mark = mark_of(wanted);
  return text_in(object, "annotations", kMadeOf) == mark ||
         text_in(object, "labels", kMadeOf) == mark;
}

ShareTemplates::ShareTemplates(const WorkerContext& context)
    : context_(context),
      cache_(context.watches,
             {.kind = cluster::kResourceClaimTemplate,
              .selection = {.label_selector = fmt::format("{}=true", admission::kShareLabel)},
              .kind_may_be_missing = true}) {}

std::optional<std::string> ShareTemplates::trouble() const { return trouble_of({&cache_}); }

bool ShareTemplates::has(const std::string& ns, const std::string& name) const {
  return cache_.find({.ns = ns, .name = name}).has_value();
}

bool ShareTemplates::has(const std::string& ns, const ClaimTemplate& wanted) const {
  const auto known = cache_.find({.ns = ns, .name = wanted.name});
  return known && is_made_of(*known, wanted);
}

Result<void> ShareTemplates::ensure(const std::string& ns, const ClaimTemplate& wanted,
                                    const cluster::Call& call) {
  if (has(ns, wanted)) return {};
  ASSIGN_OR_RETURN(const auto text, text_of(wanted));
  auto result = settle(ns, wanted, text, call);
  if (result) return result;
  return std::unexpected(std::move(result).error().with_context(
      fmt::format("ResourceClaimTemplate {}/{}", ns, wanted.name)));
}

Result<void> ShareTemplates::settle(const std::string& ns, const ClaimTemplate& wanted,
                                    const std::string& text, const cluster::Call& call) {
  const cluster::ObjectKey key{.ns = ns, .name = wanted.name};
  for (int attempt = 0; attempt < kTemplateAttempts; ++attempt) {
    const auto made = context_.objects.create(cluster::kResourceClaimTemplate, ns, text, call);
    if (made) return {};
    if (made.error().code != Code::kAlreadyExists) return std::unexpected(made.error());
    const auto now = context_.objects.get(cluster::kResourceClaimTemplate, key, call);
    if (!now && now.error().code == Code::kNotFound) continue;
    if (!now) return std::unexpected(now.error());
    if (text_in(*now, "labels", admission::kShareLabel) != "true") {
      return fail(
          Code::kFailedPrecondition,
          "it is not one of Tranche's, and a share of a GPU needs its name",
          fmt::format("delete it: kubectl -n {} delete resourceclaimtemplate {}", ns, wanted.name));
    }
    if (is_made_of(*now, wanted)) return {};
    const auto gone =
        context_.objects.remove(cluster::kResourceClaimTemplate, key, {.uid = now->uid}, call);
    const bool is_other = !gone && (gone.error().code == Code::kNotFound ||
                                    gone.error().code == Code::kFailedPrecondition);
    if (!gone && !is_other) return std::unexpected(gone.error());
    context_.log.info(fmt::format(
        "ResourceClaimTemplate {}: made anew, as the cluster's GPUs changed", key.to_string()));
  }
  return fail(Code::kUnavailable, "somebody else writes it at the same time",
              "try again in a moment");
}

}  // namespace tranche::controller
