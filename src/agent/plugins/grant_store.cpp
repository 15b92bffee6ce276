#include "agent/plugins/grant_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tranche::agent {
namespace {

constexpr std::string_view kFile = "grants.jsonl";
constexpr std::string_view kRejected = "rejected.jsonl";
// The file is rewritten when it has this many more lines than there are records.
constexpr std::size_t kSlack = 4096;
constexpr std::size_t kLongestFile = std::size_t{64} << 20U;

std::int64_t unix_ms(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock.wall_now().time_since_epoch())
      .count();
}

std::string key_of(const offer::Grant& grant, const std::string& id) {
  return grant.resource.value + " " + id;
}

bool shares_an_id(const offer::GrantRecord& a, const offer::GrantRecord& b) {
  return a.grant.resource == b.grant.resource &&
         std::ranges::any_of(a.grant.ids, [&](const std::string& id) {
           return std::ranges::find(b.grant.ids, id) != b.grant.ids.end();
         });
}

// Whether both grants may be of one Pod's admission.
bool is_of_one_pod(const offer::GrantRecord& older, const offer::GrantRecord& newer) {
  return newer.granted_at_ms - older.granted_at_ms <=
         std::chrono::milliseconds(GrantStore::kSettle).count();
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string text_of(const std::vector<std::shared_ptr<const offer::GrantRecord>>& records) {
  std::string text;
  for (const auto& record : records) text.append(offer::encode(*record)).append("\n");
  return text;
}

}  // namespace

Result<std::unique_ptr<GrantStore>> GrantStore::open(const std::filesystem::path& dir,
                                                     const Clock& clock, const Log& log,
                                                     GrantFile::OnStep on_step) {
  std::unique_ptr<GrantStore> store(new GrantStore(dir, clock, log));
  TRY(store->fs_.make_directories(dir));
  ASSIGN_OR_RETURN(const auto clean, store->restore());
  const auto records = store->records();
  // Syncing takes milliseconds, so the file is rewritten only when it needs repair.
  if (!clean) TRY(store->fs_.write_atomic(dir / kFile, text_of(records), 0600, true));
  ASSIGN_OR_RETURN(store->file_, GrantFile::open(dir / kFile, clean.value_or(records.size()),
                                                 std::move(on_step)));
  return store;
}

// The number of lines in the file; nullopt: it cannot be appended to as it is.
Result<std::optional<std::size_t>> GrantStore::restore() {
  incomplete_ = fs_.exists(dir_ / kRejected);
  const auto text = fs_.read(dir_ / kFile, kLongestFile);
  if (!text && text.error().code == Code::kNotFound) return std::size_t{0};
  if (!text) return std::unexpected(text.error());
  std::string rejected;
  std::size_t lines = 0;
  for (const auto line : split_lines(*text)) {
    auto record = offer::decode(line);
    if (!record) {
      log_.warn(fmt::format("a stored grant cannot be read ({}); kept in {}", record.error().what,
                            (dir_ / kRejected).string()));
      rejected.append(line).append("\n");
      continue;
    }
    keep(std::make_shared<const offer::GrantRecord>(*std::move(record)))->written = true;
    ++lines;
  }
  const bool whole = text->empty() || text->ends_with('\n');
  if (rejected.empty()) {
    const bool clean = whole && lines <= records_.size() + kSlack;
    return clean ? std::optional(lines) : std::nullopt;
  }
  const auto before = fs_.read(dir_ / kRejected, kLongestFile).value_or("");
  TRY(fs_.write_atomic(dir_ / kRejected, before + rejected, 0600));
  incomplete_ = true;
  return std::nullopt;
}

Result<void> GrantStore::add(const offer::Grant& grant) {
  auto record = std::make_shared<const offer::GrantRecord>(grant, unix_ms(clock_));
  auto text = offer::encode(*record) + "\n";
  Record added;
  GrantFile::Line line;
  {
    std::unique_lock lock(mutex_);
    written_.wait(lock, [&] { return !is_being_added(grant); });
    added = keep(std::move(record));
    line = file_->take(std::move(text));
  }
  // Not synced, so that Allocate does not wait for the disk: the line survives the agent's death,
  // and only a power cut can lose it.
  const auto written = file_->write(line);
  bool is_long = false;
  {
    const std::scoped_lock lock(mutex_);
    added->written = true;
    if (!written) {
      drop(added);
      stale_ = true;
    }
    is_long = !stale_ && file_->lines() > records_.size() + kSlack;
  }
  written_.notify_all();
  if (!is_long) return written;
  if (const std::unique_lock lock(compacting_, std::try_to_lock); lock) compact(false);
  return written;
}

// Whether one of its ids is in a line that is not written yet. Called under mutex_.
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

// Rewrites the file. If that fails, the file stays as it is until prune() tries again. Called under
// compacting_.
void GrantStore::compact(bool sync) {
  Records kept;
  {
    const std::scoped_lock lock(mutex_);
    kept = records_locked();
    file_->begin_replacement(kept.size());
    stale_ = false;
  }
  const auto done = file_->replace(text_of(kept), sync);
  if (done) {
    complaint_.clear();
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    stale_ = true;
  }
  const auto message = done.error().message();
  if (std::exchange(complaint_, message) != message) {
    log_.warn(
        fmt::format("{} keeps grants that nobody holds any more: {}; tried again every minute",
                    (dir_ / kFile).string(), message));
  }
}

void GrantStore::prune(std::span<const cluster::HeldDevices> held) {
  std::set<std::pair<std::string, std::string>> live;
  for (const auto& holder : held) {
    for (const auto& id : holder.ids) live.emplace(holder.resource, id);
  }
  const auto settled_before = unix_ms(clock_) - std::chrono::milliseconds(kSettle).count();
  const std::scoped_lock turn(compacting_);
  {
    const std::scoped_lock lock(mutex_);
    for (auto next = records_.begin(); next != records_.end();) {
      const auto entry = next++;
      const auto& [grant, granted_at_ms] = *entry->record;
      const bool alive = std::ranges::any_of(
          grant.ids, [&](const auto& id) { return live.contains({grant.resource.value, id}); });
      if (alive || !entry->written || granted_at_ms >= settled_before) continue;
      drop(entry);
      stale_ = true;
    }
    if (!stale_) return;
  }
  compact(true);
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
