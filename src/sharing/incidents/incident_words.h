#pragma once
// What an incident is, in sentences: for Events and for `tranche incident`. Pure.
//
// Names are told only to who may see them: each function takes the namespace of its reader, and
// Pods of others are "a Pod of another namespace". A reader without one ("") sees all names.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "incidents/incident.h"

namespace tranche::incidents {

inline constexpr std::string_view kSeesAll;

// "Pod team-a/train, container main"; without a name: "tenant 0f3a...", or "an unknown container".
std::string name_words(const Holder& holder, std::string_view reader_namespace = kSeesAll);

// Neighbours whose growth made the device full, those who grew most first; empty: none did, or
// neighbours are not the cause.
std::vector<const Holder*> culprits(const Incident& incident);

// Of the victim: "asked 2 GiB, limit 8 GiB, used 7.2 GiB; 4 s before, Pod team-a/other took 3 GiB".
std::string victim_words(const Incident& incident, std::string_view reader_namespace = kSeesAll);
// Of a neighbour that grew: "took 3 GiB; 4 s later Pod team-a/train was refused 2 GiB".
std::string holder_words(const Incident& incident, const Holder& holder,
                         std::string_view reader_namespace = kSeesAll);

}  // namespace tranche::incidents
