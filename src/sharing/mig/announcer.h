#pragma once
// Makes the announcement of a change (mig/announce.h) from the API server's current objects. Lists
// are read page by page, keeping only the Pods that the announcement is about, so tens of thousands
// of Pods take little memory.

#include <string>

#include "base/result.h"
#include "cluster/objects.h"
#include "mig/announce.h"

namespace tranche::mig {

// Errors: see the port.
Result<Announcement> announce_now(cluster::Objects& objects, const cluster::MigChange& change,
                                  const std::string& node, const cluster::Call& call = {});

}  // namespace tranche::mig
