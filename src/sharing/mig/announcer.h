#pragma once
// The announcement of a change (mig/announce.h) from what the API server has now. Lists are read
// page by page, and of Pods only those are kept that the announcement is about: tens of thousands
// of them take no memory to speak of.

#include <string>

#include "base/result.h"
#include "cluster/objects.h"
#include "mig/announce.h"

namespace tranche::mig {

// Errors: those of the port.
Result<Announcement> announce_now(cluster::Objects& objects, const cluster::MigChange& change,
                                  const std::string& node, const cluster::Call& call = {});

}  // namespace tranche::mig
