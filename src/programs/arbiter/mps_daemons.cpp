#include "arbiter/mps_daemons.h"

#include <sys/stat.h>

#include <utility>

#include "host/file_locks.h"

namespace tranche::arbiter {

MpsDaemons::MpsDaemons(FsRoot host, std::filesystem::path folder)
    : host_(std::move(host)), folder_(std::move(folder)), place_(host_, folder_) {}

MpsDaemons::Serving MpsDaemons::serving() const {
  if (!place_.place()) return {};
  struct stat lock{};
  if (::stat((folder_ / ".supervisor.lock").c_str(), &lock) == 0) {
    const auto locks = host_.read("/proc/locks").value_or("");
    if (const auto pid = host::holder_of(locks, place_.place()->device, lock.st_ino)) return {pid};
  }
  return {.is_foreign = FsRoot().exists(folder_ / ".ready")};
}

}  // namespace tranche::arbiter
