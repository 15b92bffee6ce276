#pragma once
// Reads facts from objects, as API servers and snapshots have them. What is kept of a Pod or a Node
// is again an object's text of that kind, so the same reader reads it: a watch keeps little of
// clusters with many Pods.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/facts.h"

namespace tranche::fleet {

// Resources of this domain are GPUs.
inline constexpr std::string_view kGpuDomain = "nvidia.com/";

// kInvalidArgument: it is no such object.
Result<NodeFacts> read_node(std::string_view json);
// nullopt: the Pod asks for no GPU and has no claim.
Result<std::optional<PodFacts>> read_pod(std::string_view json);
Result<ClaimFacts> read_claim(std::string_view json);
// nullopt: no class of `driver`'s devices, by the text of its selectors.
Result<std::optional<usage::Mechanism>> read_class(std::string_view json, std::string_view driver);

// What is kept; of a Pod without a GPU "". What cannot be read stays as it is.
std::string kept_of_node(const std::string& json);
std::string kept_of_pod(const std::string& json);
std::string kept_of_claim(const std::string& json);

}  // namespace tranche::fleet
