#pragma once
// Follows the files that the agent writes for its tenants: <folder>/<id>.json (limits/v1).
//
// A tenant is gone when its file is gone, and not before: a file or a folder that cannot be read
// says nothing about the tenants. What failed (a file, the folder, the serving of a tenant) is
// tried again with a back-off and is logged once until the reason changes. The folder is also read
// when nothing failed and inotify told nothing (kAnyway): not each change makes an event.
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
  // How often the folder is read although nothing told that it changed.
  static constexpr std::chrono::seconds kAnyway{10};

  struct Users {
    // Serves a tenant that came or changed. After an error it is called again, later.
    std::function<Result<void>(const std::string& id, limit::TenantLimits)> serve;
    // The tenant was served and is gone.
    std::function<void(const std::string& id)> let_go;
    // These are all tenants that have a file, readable or not: each other one is gone. Called with
    // the first answer of the folder, and whenever a file has gone, after let_go.
    std::function<void(const std::set<std::string>& there)> others_gone;
  };

  // `clock` and `log` outlive it. kIo: the folder cannot be watched.
  static Result<TenantFiles> open(std::filesystem::path folder, const Clock& clock, const Log& log);

  // Readable when the folder may have changed.
  int fd() const { return watch_.fd(); }
  // Takes the changes that inotify told. True: scan() should be called.
  bool drain() { return watch_.drain(); }
  // Whether a scan is due without any event.
  bool is_due() const { return clock_.now() >= due_; }
  // Reads the folder and calls `users`.
  void scan(const Users& users);

  // Tenants that are not served as their files say, and why.
  std::vector<limit::RefusedTenant> refused() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  // What failed last, and when it is tried again.
  struct Failure {
    std::string reason;
    std::string text;  // content of the file with which it failed; "": it could not be read
    Time due;
    Backoff backoff{};
  };

  TenantFiles(std::filesystem::path folder, Watch watch, const Clock& clock, const Log& log);
  void look_at(const std::string& id, const Result<std::string>& text, const Users& users);
  Result<void> take_in(const std::string& id, const std::string& text, const Users& users) const;
  bool let_go_others(const std::set<std::string>& there, const Users& users);
  void failed(std::optional<Failure>& failure, const std::string& text, const std::string& reason,
              const std::string& line);
  void plan();

  // A tenant's file, while it is there.
  struct File {
    std::optional<std::string> served;  // its content as it is served
    std::optional<Failure> failure;
  };

  std::filesystem::path folder_;
  Watch watch_;
  const Clock& clock_;
  const Log& log_;
  std::map<std::string, File> files_;  // by tenant
  std::optional<Failure> failure_;     // of the folder
  bool was_read_ = false;              // the folder, at least once
  Time due_;
};

}  // namespace tranche::arbiter
