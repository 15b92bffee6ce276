#pragma once
// The tenants of this node, as files. <dir>/<id>.json is what a container was promised (limits/v1);
// the arbiter reads it. <dir>/<id>/ is mounted read-only into the container and has the arbiter's
// socket and what the container sees of its devices before an arbiter answers
// (limit/part_format.h). All are written before Allocate is answered, and kept as long as the
// grant.
//
// Different tenants may be written concurrently; TenantManager decides by which thread.

#include <filesystem>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "limit/tenant_limits.h"
#include "offer/limits.h"

namespace tranche::agent {

class TenantStore {
 public:
  explicit TenantStore(std::filesystem::path dir) : dir_(std::move(dir)) {}

  Result<void> make_folder() const;
  const std::filesystem::path& dir() const { return dir_; }

  // Writes files that differ. True: the promise has changed.
  Result<bool> put(const limit::TenantLimits& limits) const;
  // kNotFound: no such tenant; kInvalidArgument: its file is damaged.
  Result<limit::TenantLimits> get(const std::string& id) const;
  // Removes the file first, so that the arbiter drops the tenant, then the folder. Missing ones are
  // no error.
  Result<void> remove(const std::string& id) const;
  // The id of every file, in order; empty without a folder.
  Result<std::vector<std::string>> ids() const;

 private:
  std::filesystem::path dir_;
  FsRoot fs_;
};

// kInvalidArgument: more devices than a tenant can have.
Result<limit::TenantLimits> tenant_limits(std::string id, std::string resource,
                                          const GrantLimits& limits);

}  // namespace tranche::agent
