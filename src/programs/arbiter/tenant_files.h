#pragma once
// Follows the files that the agent writes for its tenants: <folder>/<id>.json (limits/v1).
//
// A tenant is gone when its file is gone, and not before: an unreadable file or folder says nothing
// about the tenants. Whatever failed (a file, the folder, serving a tenant) is tried again with a
// back-off and is logged once until the reason changes. The folder is also read without failures
// and inotify events (kAnyway): not every change makes an event.
//
// Used by the arbiter's one thread.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/watch.h"
#include "limit/arbiter_status.h"
#include "limit/tenant_limits.h"

namespace tranche::arbiter {

class TenantFiles {
 public:
  // How often the folder is read without an event.
  static constexpr std::chrono::seconds kAnyway{10};

  struct Users {
    // Serves a new or changed tenant. After an error it is called again, later.
    std::function<Result<void>(const std::string& id, limit::TenantLimits)> serve;
    // The tenant was served and is gone.
    std::function<void(const std::string& id)> release;
    // These are all tenants that have a file, readable or not: every other one is gone. Called with
    // the folder's first listing, and whenever a file has disappeared, after release.
    std::function<void(const std::set<std::string>& there)> others_gone;
  };

  // `clock` and `log` must outlive it. kIo: the folder cannot be watched.
  static Result<TenantFiles> open(std::filesystem::path folder, const Clock& clock, const Log& log);

  // Readable when the folder may have changed.
  int fd() const { return watch_.fd(); }
  // Takes the changes from inotify. True: scan() should be called.
  bool drain() { return watch_.drain(); }
  // Whether a scan is due without any event.
  bool is_due() const { return clock_.now() >= due_; }
  // Reads the folder and calls `users`.
  void scan(const Users& users);

  // Tenants that are not served according to their files, and why.
  std::vector<limit::RefusedTenant> refused() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  // The last failure, and when to try again.
  struct Failure {
    std::string reason;
    std::string text;  // content of the file that failed; "": it was unreadable
    Time due;
    Backoff backoff{};
  };

  TenantFiles(std::filesystem::path folder, Watch watch, const Clock& clock, const Log& log);
  void look_at(const std::string& id, const Result<std::string>& text, const Users& users);
  Result<void> take_in(const std::string& id, const std::string& text, const Users& users) const;
  bool release_others(const std::set<std::string>& there, const Users& users);
  void failed(std::optional<Failure>& failure, const std::string& text, const std::string& reason,
              const std::string& line);
  void plan();

  // A tenant's file, while it is there.
  struct File {
    std::optional<std::string> served;  // the content currently served
    std::optional<Failure> failure;
  };

  std::filesystem::path folder_;
  Watch watch_;
  const Clock& clock_;
  const Log& log_;
  std::map<std::string, File> files_;  // by tenant
  std::optional<Failure> failure_;     // of the folder
  bool was_read_ = false;              // the folder was read at least once
  Time due_;
};

}  // namespace tranche::arbiter
