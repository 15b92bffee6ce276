#pragma once
// A snapshot without names, to be sent to somebody else. Pure.
//
// Replaced, the same by the same everywhere, also inside messages: names of Nodes, namespaces,
// Pods, containers, claims, requests, ConfigMaps and their keys, owners, tenants; UIDs and UUIDs of
// GPUs and MIG instances; labels of domains that are not public, and values of labels but those
// that tell hardware; the API server's address. Configurations lose their comments.
//
// What manifests of one cluster and another have alike stays: resources, device classes, drivers,
// attributes, priority classes, tiers; models, MIG profiles and PCI addresses; amounts and times;
// words of messages. docs/snapshot.md has the rules for its readers.

#include <cstdint>

#include "cluster/snapshot/snapshot.h"

namespace tranche::cluster {

// `seed`: a random number that nobody keeps. It decides which name gets which number.
Snapshot anonymize(Snapshot snapshot, std::uint64_t seed);

}  // namespace tranche::cluster
