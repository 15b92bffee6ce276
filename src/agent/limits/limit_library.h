#pragma once
// libtranche-limit.so on the host, where containers mount it from. Kubelet replays a grant's mounts
// for as long as its container is restarted, also under a later release of the agent, so each
// release's library lies in a folder named by its content, <dir>/<hash>/, with the preload file
// that names it; a folder goes when no grant mounts from it any more.
//
// Used in turn by TenantManager's threads (its turns_), none of which answers a pod.

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

class LimitLibrary {
 public:
  struct Installed {
    std::string library;
    std::string preload;  // for /etc/ld.so.preload
  };

  // `source`: the library of this release. `dir`: absolute, on the host the same path as here.
  LimitLibrary(std::filesystem::path source, std::filesystem::path dir)
      : source_(std::move(source)), dir_(std::move(dir)) {}

  // Puts it into place, unless it is there already. Errors: kNotFound, no library at `source`; it
  // is empty; the folder cannot be written.
  Result<Installed> install();

  // Removes the folders of other releases from which nothing in `mounted` (files on the host) is
  // mounted; returns their names.
  std::vector<std::string> sweep(const std::set<std::string>& mounted) const;

 private:
  std::filesystem::path source_;
  std::filesystem::path dir_;
  FsRoot fs_;
  std::optional<Installed> installed_;
};

// Where the library lies that was installed with this program: ../lib beside its folder.
std::filesystem::path library_beside_program();

}  // namespace tranche::agent
