#pragma once
// Which tenants and which releases of the library living containers have mounted.

#include <set>
#include <string>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

// The names below `tenants` and `lib` of a state folder of which any living process has something
// mounted; a container's mount point below /run/tranche counts too. The state folder itself may be
// mounted anywhere, so it is not compared: a name that occurs elsewhere is listed as well. An
// error: it is not known.
Result<std::set<std::string>> mounted_names(const FsRoot& fs);

}  // namespace tranche::agent
