#pragma once
// Which tenants and releases of the library living containers have mounted.

#include <set>
#include <string>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

// The names below `tenants` and `lib` of a state folder of which a living process has something
// mounted; mount points below /run/tranche in containers count, too. The state folder may be
// mounted anywhere, so its path is not compared: the same name elsewhere is listed as well. An
// error: unknown.
Result<std::set<std::string>> mounted_names(const FsRoot& fs);

}  // namespace tranche::agent
