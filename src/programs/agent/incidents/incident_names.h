#pragma once
// Who the holders in an incident are. The arbiter knows tenants; the book of holdings knows their
// containers. Pure.

#include <set>
#include <string>

#include "holdings/holdings.h"
#include "incidents/incident.h"

namespace tranche::agent {

// Fills in the names that are missing. `held`: with their Pods' uids (holdings/users.h).
void name_holders(incidents::Incident& incident, const holdings::Holdings& held);
// Adds those who hold `devices` and that the arbiter does not know: they have no limits.
void add_holders(incidents::Incident& incident, const holdings::Holdings& held,
                 const std::set<std::string>& devices);
// Whether an Event can be recorded on whom it concerns most: the victim, or any holder.
bool is_named(const incidents::Incident& incident);

}  // namespace tranche::agent
