#pragma once
// Writes a tree of base/yaml.h as YAML that reads back as the same tree, or as JSON. Pure.

#include <string>

#include "base/json_value.h"
#include "base/yaml.h"

namespace tranche::yaml {

// Block style; list items at the indent of their key, as kubectl writes them. Plain scalars are
// kept as they are. Quoted texts get double quotes; multi-line texts become blocks.
std::string write(const Node& node);

// As Kubernetes reads YAML: plain scalars are booleans, numbers, null or text by the rules of
// YAML 1.1. A number keeps its digits.
json::Value to_json(const Node& node);

}  // namespace tranche::yaml
