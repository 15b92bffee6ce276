#include "agent/grants/grant_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/lines.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kFile = "grants.jsonl";
constexpr std::string_view kRejected = "rejected.jsonl";
// Excess of lines over records at which the file is rewritten.
constexpr std::size_t kSlack = 4096;
constexpr std::size_t kLongestFile = std::size_t{64} << 20U;

std::string key_of(const offer::Grant& grant, const std::string& id) {
  return grant.resource.value + " " + id;
}

bool shares_an_id(const offer::GrantRecord& a, const offer::GrantRecord& b) {
  return a.grant.resource == b.grant.resource &&
         std::ranges::any_of(a.grant.ids, [&](const std::string& id) {
           return std::ranges::find(b.grant.ids, id) != b.grant.ids.end();
         });
}

// Whether both grants may be from one Pod's admission.
bool is_of_one_pod(const offer::GrantRecord& older, const offer::GrantRecord& newer) {
  return newer.granted_at_ms - older.granted_at_ms <=
         std::chrono::milliseconds(GrantStore::kSettle).count();
}

std::string text_of(const std::vector<std::shared_ptr<const offer::GrantRecord>>& records) {
  std::string text;
  for (const auto& record : records) text.append(offer::encode(*record)).append("\n");
  return text;
}

}  // namespace

GrantStore::GrantStore(std::filesystem::path dir, const Clock& clock, const Log& log,
                       GrantFile::OnStep step)
    : dir_(std::move(dir)),
      clock_(clock),
      log_(log),
      on_step_(std::move(step)),
      rejected_(dir_ / kRejected),
      opened_(clock.now()) {}

Result<std::unique_ptr<GrantStore>> GrantStore::open(const std::filesystem::path& dir,
                                                     const Clock& clock, const Log& log,
                                                     GrantFile::OnStep on_step, Writers writers) {
  std::unique_ptr<GrantStore> store(new GrantStore(dir, clock, log, std::move(on_step)));
  store->shared_ = writers == Writers::kTwo;
  ASSIGN_OR_RETURN(const auto found, store->restore());
  const std::scoped_lock turn(store->compacting_);
  // Syncing takes milliseconds, so the file is rewritten only when it needs repair.
  store->stale_ = !found.clean;
  const auto opened = store->open_file(found.lines);
  if (!opened) store->say(opened.error());
  if (opened && !found.clean) store->compact(FsRoot::Sync::kNow);
  return store;
}

std::int64_t GrantStore::unix_time_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall_now().time_since_epoch())
      .count();
}

Result<GrantStore::Found> GrantStore::restore() {
  Found found;
  const auto read = fs_.read(dir_ / kFile, kLongestFile);
  if (!read && read.error().code != Code::kNotFound) return std::unexpected(read.error());
  auto text = read.value_or("");
  // The other agent may be writing a line; own() reads it.
  if (shared_) text.resize(text.rfind('\n') + 1);
  read_ = text.size();
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = take_line(rest);
    if (line.empty()) continue;
    auto record = offer::decode(line);
    if (!record) {
      log_.warn(fmt::format("a stored grant cannot be read ({}); kept in {}", record.error().what,
                            rejected_.file().string()));
      rejected_.take(line);
      found.clean = false;
      continue;
    }
    keep(std::make_shared<const offer::GrantRecord>(*std::move(record)))->written = true;
    ++found.lines;
  }
  incomplete_ = rejected_.any();
  if (!text.empty() && !text.ends_with('\n')) found.clean = false;
  if (found.lines > records_.size() + kSlack) found.clean = false;
  return found;
}

Result<void> GrantStore::open_file(std::size_t lines) {
  {
    const std::scoped_lock lock(mutex_);
    if (file_ != nullptr) return {};
  }
  TRY(fs_.make_directories(dir_));
  ASSIGN_OR_RETURN(auto file, GrantFile::open(dir_ / kFile, lines, on_step_));
  const std::scoped_lock lock(mutex_);
  file_ = std::move(file);
  return {};
}

Result<void> GrantStore::add(const offer::Grant& grant) {
  auto record = std::make_shared<const offer::GrantRecord>(grant, unix_time_ms());
  auto text = offer::encode(*record) + "\n";
  Record added;
  GrantFile* file = nullptr;
  GrantFile::Line line;
  Result<void> written;
  {
    std::unique_lock lock(mutex_);
    written_.wait(lock, [&] { return !is_being_added(grant); });
    added = keep(std::move(record));
    file = file_.get();
    if (file != nullptr) line = file->take(std::move(text));
    if (file == nullptr && trouble_) written = std::unexpected(*trouble_);
  }
  // Not synced, so Allocate does not wait for the disk: the line survives the agent's death, and
  // only a power cut can lose it.
  if (file != nullptr) written = file->write(line);
  const bool refused = !written && !grant.tenant.empty();
  bool is_long = false;
  {
    const std::scoped_lock lock(mutex_);
    added->written = true;
    if (!written) stale_ = true;
    if (refused) drop(added);
    is_long = !stale_ && file_->lines() > records_.size() + kSlack;
  }
  written_.notify_all();
  if (!written && !refused) say(written.error());
  if (is_long) {
    if (const std::unique_lock lock(compacting_, std::try_to_lock); lock)
      compact(FsRoot::Sync::kLater);
  }
  return refused ? written : Result<void>();
}

void GrantStore::say(const Error& error) {
  {
    const std::scoped_lock lock(mutex_);
    stale_ = true;
    if (trouble_) return;
    trouble_ = error;
    if (error.hint.empty()) trouble_->hint = "mount a writable folder at --state-dir";
  }
  log_.warn(
      fmt::format("grants are not stored: {}; containers without limits get their GPUs all "
                  "the same, limited ones are refused; tried again at each --grants-interval",
                  standing().error().message()));
}

Result<void> GrantStore::standing() const {
  const std::scoped_lock lock(mutex_);
  return trouble_ ? Result<void>(std::unexpected(*trouble_)) : Result<void>();
}

// Whether one of its ids is in a line that is not written yet. Only under mutex_.
bool GrantStore::is_being_added(const offer::Grant& grant) const {
  return std::ranges::any_of(grant.ids, [&](const std::string& id) {
    const auto held = holders_.find(key_of(grant, id));
    return held != holders_.end() && !held->second->written;
  });
}

// Adds a record, and drops or supersedes older records that hold one of its ids.
GrantStore::Record GrantStore::keep(std::shared_ptr<const offer::GrantRecord> record) {
  const auto added = records_.insert(records_.end(), Entry{.record = std::move(record)});
  const auto& grant = added->record->grant;
  for (const auto older : std::vector(superseded_)) {
    if (shares_an_id(*older->record, *added->record) &&
        !is_of_one_pod(*older->record, *added->record)) {
      drop(older);
    }
  }
  for (const auto& id : grant.ids) {
    const auto key = key_of(grant, id);
    if (const auto older = holders_.find(key); older != holders_.end() && older->second != added) {
      supersede(older->second, *added->record);
    }
    holders_[key] = added;
  }
  return added;
}

void GrantStore::supersede(Record older, const offer::GrantRecord& by) {
  if (older->record->grant.tenant.empty() || !is_of_one_pod(*older->record, by)) {
    return drop(older);
  }
  if (std::ranges::find(superseded_, older) == superseded_.end()) superseded_.push_back(older);
}

void GrantStore::drop(Record record) {
  const auto& grant = record->record->grant;
  for (const auto& id : grant.ids) {
    const auto held = holders_.find(key_of(grant, id));
    if (held != holders_.end() && held->second == record) holders_.erase(held);
  }
  std::erase(superseded_, record);
  records_.erase(record);
}

// Rewrites the file. After a failure it stays as it is until save() or prune() retries. Only under
// compacting_.
void GrantStore::compact(FsRoot::Sync sync) {
  if (shared_) return;
  const auto done = rewrite(sync);
  bool stored_again = false;
  bool unsaved = false;
  {
    const std::scoped_lock lock(mutex_);
    if (!done) stale_ = true;
    stored_again = trouble_ && !stale_;
    if (stored_again) trouble_.reset();
    unsaved = trouble_.has_value();
  }
  if (stored_again) log_.info("grants are stored again");
  if (done) return complaint_.clear();
  const auto message = done.error().message();
  if (unsaved || std::exchange(complaint_, message) == message) return;
  log_.warn(fmt::format(
      "{} keeps grants that nobody holds any more: {}; tried again at each --grants-interval",
      (dir_ / kFile).string(), message));
}

Result<void> GrantStore::rewrite(FsRoot::Sync sync) {
  TRY(open_file(0));
  // Before the lines leave the file.
  TRY(rejected_.write());
  Records kept;
  GrantFile* file = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    kept = records_locked();
    file = file_.get();
    file->begin_replacement(kept.size());
    stale_ = false;
  }
  return file->replace(text_of(kept), sync == FsRoot::Sync::kNow);
}

void GrantStore::save() {
  const std::scoped_lock turn(compacting_);
  {
    const std::scoped_lock lock(mutex_);
    if (!stale_) return;
  }
  compact(FsRoot::Sync::kNow);
}

void GrantStore::share() {
  const std::scoped_lock turn(compacting_);  // waits for a running replacement
  shared_ = true;
}

Result<std::vector<offer::GrantRecord>> GrantStore::own() {
  const std::scoped_lock turn(compacting_);
  ASSIGN_OR_RETURN(const auto text, fs_.read(dir_ / kFile, kLongestFile));
  std::vector<offer::GrantRecord> taken;
  for (auto rest = std::string_view(text).substr(std::min(read_, text.size())); !rest.empty();) {
    const auto line = take_line(rest);
    if (line.empty()) continue;
    if (auto record = take_up(std::string(line))) taken.push_back(*std::move(record));
  }
  shared_ = false;
  return taken;
}

// Adds a line appended by this process or the other one, unless it is known or superseded.
std::optional<offer::GrantRecord> GrantStore::take_up(const std::string& line) {
  auto record = offer::decode(line);
  if (!record) {
    log_.warn(fmt::format("a stored grant cannot be read ({}); kept in {}", record.error().what,
                          rejected_.file().string()));
    rejected_.take(line);
    incomplete_ = true;
    const std::scoped_lock lock(mutex_);
    stale_ = true;
    return std::nullopt;
  }
  const std::scoped_lock lock(mutex_);
  const bool is_known = std::ranges::any_of(record->grant.ids, [&](const std::string& id) {
    const auto held = holders_.find(key_of(record->grant, id));
    return held != holders_.end() && held->second->record->granted_at_ms >= record->granted_at_ms;
  });
  if (is_known) return std::nullopt;
  keep(std::make_shared<const offer::GrantRecord>(*record))->written = true;
  return *std::move(record);
}

GrantStore::Records GrantStore::records_locked() const {
  Records records;
  records.reserve(records_.size());
  for (const auto& entry : records_) records.push_back(entry.record);
  return records;
}

GrantStore::Records GrantStore::records() const {
  const std::scoped_lock lock(mutex_);
  return records_locked();
}

std::vector<offer::GrantRecord> GrantStore::all() const {
  std::vector<offer::GrantRecord> all;
  for (const auto& record : records()) all.push_back(*record);
  return all;
}

}  // namespace tranche::agent
