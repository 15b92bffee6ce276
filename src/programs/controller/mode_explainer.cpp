#include "controller/mode_explainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "admission/names.h"
#include "cluster/formats/node_mode.h"
#include "cluster/formats/reasons.h"
#include "controller/template_uses.h"

namespace tranche::controller {
namespace {

bool may_claim_a_share(const std::string& pod) {
  return pod.find(admission::kOurPrefix) != std::string::npos;
}

// A label that is no mode leaves the node in the mode that it has.
bool may_take_claims(const cluster::Node& node) {
  const auto mode = cluster::mode_of(node);
  return !mode || *mode == cluster::NodeMode::kDra;
}

std::string note_of(const TemplateUse& use) {
  return fmt::format(
      "the Pod's share of a GPU is a claim ({}), and no node is in mode dra any more, so it is "
      "never allocated: kubectl label node NODE tranche.dev/mode=dra; or delete the Pod and apply "
      "its manifest, or its workload's, again: what it asks for becomes what nodes offer now",
      use.name);
}

Result<Explainer::Notes> explain_modes(const std::vector<cluster::Object>& pods,
                                       const Explainer::ListNodes& list_nodes) {
  Explainer::Notes notes(pods.size());
  if (pods.empty()) return notes;
  ASSIGN_OR_RETURN(const auto nodes, list_nodes());
  if (std::ranges::any_of(nodes, may_take_claims)) return notes;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto used = used_templates(pods[i].json);
    if (!used.empty()) notes[i] = note_of(*used.begin());
  }
  return notes;
}

}  // namespace

Explainer mode_explainer() {
  return {.purpose = "telling Pods that wait for shares of GPUs when no node takes claims",
          .topic = "Pods that wait for a node in mode dra",
          .reason = cluster::reason::kNoNodeTakesClaims,
          .may_concern = may_claim_a_share,
          .explain = explain_modes};
}

}  // namespace tranche::controller
