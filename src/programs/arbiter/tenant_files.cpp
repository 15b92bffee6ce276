#include "arbiter/tenant_files.h"

#include <algorithm>
#include <utility>

#include "base/fs.h"
#include "fmt/format.h"

namespace tranche::arbiter {

namespace {

constexpr std::size_t kLargestFile = 64U << 10U;

}  // namespace

TenantFiles::TenantFiles(std::filesystem::path folder, Watch watch, const Clock& clock,
                         const Log& log)
    : folder_(std::move(folder)), watch_(std::move(watch)), clock_(clock), log_(log) {}

Result<TenantFiles> TenantFiles::open(std::filesystem::path folder, const Clock& clock,
                                      const Log& log) {
  ASSIGN_OR_RETURN(auto watch, Watch::open({folder}));
  return TenantFiles(std::move(folder), std::move(watch), clock, log);
}

void TenantFiles::scan(const Users& users) {
  const auto names = FsRoot().list(folder_);
  if (names) {
    failure_.reset();
    std::set<std::string> there;
    for (const std::string& name : *names) {
      const std::filesystem::path path = folder_ / name;
      if (path.extension() != ".json") continue;
      const auto text = FsRoot().read(path, kLargestFile);
      // Removed since the folder was read.
      if (!text && text.error().code == Code::kNotFound) continue;
      there.insert(path.stem());
      look_at(path.stem(), text, users);
    }
    const bool any_gone = release_others(there, users);
    if (!std::exchange(was_read_, true) || any_gone) users.others_gone(there);
  } else {
    const std::string reason = names.error().message();
    failed(failure_, "", reason, fmt::format("{}; its tenants stay as they were", reason));
  }
  plan();
}

void TenantFiles::look_at(const std::string& id, const Result<std::string>& text,
                          const Users& users) {
  File& file = files_[id];
  const bool is_known = text && file.served == *text;
  // The same content has failed before, and the next try is not due.
  const bool waits =
      text && file.failure && file.failure->text == *text && clock_.now() < file.failure->due;
  if (waits && !is_known) return;
  Result<void> done;
  if (!text) done = std::unexpected(text.error());
  if (text && !is_known) done = take_in(id, *text, users);
  if (!done) {
    const std::string reason = done.error().message();
    failed(file.failure, text.value_or(""), reason,
           fmt::format("tenant {}: {}; {}", id, reason,
                       file.served ? "its limits stay as they were" : "it is not served"));
    return;
  }
  if (std::exchange(file.failure, std::nullopt)) {
    log_.info(fmt::format("tenant {}: its file is in use again", id));
  }
  file.served = *text;
}

Result<void> TenantFiles::take_in(const std::string& id, const std::string& text,
                                  const Users& users) const {
  ASSIGN_OR_RETURN(auto limits, limit::decode(text));
  if (limits.id != id) {
    return fail(Code::kInvalidArgument, fmt::format("its file is that of {}", limits.id));
  }
  return users.serve(id, std::move(limits));
}

// True: a file is gone.
bool TenantFiles::release_others(const std::set<std::string>& there, const Users& users) {
  const auto gone = std::erase_if(files_, [&](const auto& entry) {
    if (there.contains(entry.first)) return false;
    if (entry.second.served) users.release(entry.first);
    return true;
  });
  return gone > 0;
}

// Records a failure and the time of the next try. Logs `line` if the reason is new.
void TenantFiles::failed(std::optional<Failure>& failure, const std::string& text,
                         const std::string& reason, const std::string& line) {
  if (!failure || failure->reason != reason) log_.error(line);
  if (!failure) failure = Failure();
  if (failure->text != text) failure->backoff.reset();
  failure->reason = reason;
  failure->text = text;
  failure->due = clock_.now() + failure->backoff.next();
}

void TenantFiles::plan() {
  due_ = clock_.now() + kAnyway;
  if (failure_) due_ = std::min(due_, failure_->due);
  for (const auto& [id, file] : files_) {
    if (file.failure) due_ = std::min(due_, file.failure->due);
  }
}

std::vector<limit::RefusedTenant> TenantFiles::refused() const {
  std::vector<limit::RefusedTenant> result;
  for (const auto& [id, file] : files_) {
    if (file.failure) result.push_back({id, file.failure->reason});
  }
  return result;
}

}  // namespace tranche::arbiter
