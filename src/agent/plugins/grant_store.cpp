#include "agent/plugins/grant_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

namespace tranche::agent {
namespace {

constexpr std::string_view kFile = "grants.jsonl";
constexpr std::string_view kRejected = "rejected.jsonl";
// The file is rewritten when it holds this many lines more than there are records.
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

// Whether both may have been granted while one Pod was admitted.
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

}  // namespace

Result<std::unique_ptr<GrantStore>> GrantStore::open(const std::filesystem::path& dir,
                                                     const Clock& clock, const Log& log) {
  std::unique_ptr<GrantStore> store(new GrantStore(dir, clock, log));
  TRY(store->fs_.make_directories(dir));
  ASSIGN_OR_RETURN(const bool clean, store->restore());
  // Writing through to the disk takes milliseconds, so only when there is something to mend.
  if (clean) {
    TRY(store->reopen());
  } else {
    TRY(store->rewrite(true));
  }
  return store;
}

GrantStore::~GrantStore() {
  if (fd_ >= 0) ::close(fd_);
}

// Whether the file can be appended to as it is.
Result<bool> GrantStore::restore() {
  incomplete_ = fs_.exists(dir_ / kRejected);
  const auto text = fs_.read(dir_ / kFile, kLongestFile);
  if (!text && text.error().code == Code::kNotFound) return true;
  if (!text) return std::unexpected(text.error());
  std::string rejected;
  for (const auto line : split_lines(*text)) {
    auto record = offer::decode(line);
    if (!record) {
      log_.warn(fmt::format("a stored grant cannot be read ({}); kept in {}", record.error().what,
                            (dir_ / kRejected).string()));
      rejected.append(line).append("\n");
      continue;
    }
    keep(*std::move(record));
    ++lines_;
  }
  const bool whole = text->empty() || text->ends_with('\n');
  if (rejected.empty()) return whole && lines_ <= records_.size() + kSlack;
  const auto before = fs_.read(dir_ / kRejected, kLongestFile).value_or("");
  TRY(fs_.write_atomic(dir_ / kRejected, before + rejected, 0600));
  incomplete_ = true;
  return false;
}

Result<void> GrantStore::add(const offer::Grant& grant) {
  offer::GrantRecord record{grant, unix_ms(clock_)};
  const auto line = offer::encode(record) + "\n";
  const std::scoped_lock lock(mutex_);
  keep(std::move(record));
  // Not through to the disk: Allocate does not wait for one, and an append is no safer.
  if (lines_ > records_.size() + kSlack) return rewrite(false);
  return append(line);
}

// Adds a record; older ones that hold one of its ids go.
void GrantStore::keep(offer::GrantRecord record) {
  const auto added = records_.insert(records_.end(), std::move(record));
  for (const auto older : std::vector(superseded_)) {
    if (shares_an_id(*older, *added) && !is_of_one_pod(*older, *added)) drop(older);
  }
  for (const auto& id : added->grant.ids) {
    const auto key = key_of(added->grant, id);
    if (const auto older = holders_.find(key); older != holders_.end() && older->second != added) {
      supersede(older->second, *added);
    }
    holders_[key] = added;
  }
}

void GrantStore::supersede(Record older, const offer::GrantRecord& by) {
  if (offer::tenant_of(older->grant).empty() || !is_of_one_pod(*older, by)) return drop(older);
  if (std::ranges::find(superseded_, older) == superseded_.end()) superseded_.push_back(older);
}

void GrantStore::drop(Record record) {
  for (const auto& id : record->grant.ids) {
    const auto held = holders_.find(key_of(record->grant, id));
    if (held != holders_.end() && held->second == record) holders_.erase(held);
  }
  std::erase(superseded_, record);
  records_.erase(record);
}

Result<void> GrantStore::append(const std::string& line) {
  const ssize_t n = ::write(fd_, line.data(), line.size());
  if (n == static_cast<ssize_t>(line.size())) {
    ++lines_;
    return {};
  }
  return std::unexpected(errno_error(n < 0 ? errno : ENOSPC, "write " + (dir_ / kFile).string()));
}

Result<void> GrantStore::rewrite(bool sync) {
  std::string content;
  for (const auto& record : records_) content.append(offer::encode(record)).append("\n");
  TRY(fs_.write_atomic(dir_ / kFile, content, 0600, sync));
  lines_ = records_.size();
  return reopen();
}

Result<void> GrantStore::reopen() {
  const auto path = dir_ / kFile;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return std::unexpected(errno_error(errno, "open " + path.string()));
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  return {};
}

void GrantStore::prune(std::span<const cluster::HeldDevices> held) {
  std::set<std::pair<std::string, std::string>> live;
  for (const auto& holder : held) {
    for (const auto& id : holder.ids) live.emplace(holder.resource, id);
  }
  const auto settled_before = unix_ms(clock_) - std::chrono::milliseconds(kSettle).count();
  const std::scoped_lock lock(mutex_);
  std::size_t gone = 0;
  for (auto next = records_.begin(); next != records_.end();) {
    const auto record = next++;
    const bool alive = std::ranges::any_of(record->grant.ids, [&](const auto& id) {
      return live.contains({record->grant.resource.value, id});
    });
    if (alive || record->granted_at_ms >= settled_before) continue;
    drop(record);
    ++gone;
  }
  if (gone == 0) return;
  if (const auto written = rewrite(true); !written) log_.warn(written.error());
}

std::vector<offer::GrantRecord> GrantStore::all() const {
  const std::scoped_lock lock(mutex_);
  return {records_.begin(), records_.end()};
}

}  // namespace tranche::agent
