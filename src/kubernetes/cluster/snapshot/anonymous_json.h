#pragma once
// Parts of objects that a snapshot keeps as JSON, without names: affinities, requests, constraints
// and selectors of claims, parameters. Which texts are names follows from the members' keys.

#include <string>

#include "cluster/snapshot/renamer.h"

namespace tranche::cluster {

// `json`: as kept; empty stays empty. A text that is no JSON becomes empty.
void rename_json(const Renamer& renamer, std::string& json);

}  // namespace tranche::cluster
