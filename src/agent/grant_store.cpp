#include "agent/grant_store.h"

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
constexpr std::size_t kSlack = 1024;
constexpr std::size_t kLongestFile = std::size_t{64} << 20U;

std::int64_t unix_ms(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock.wall_now().time_since_epoch())
      .count();
}

bool shares_id(const offer::Grant& a, const offer::Grant& b) {
  return a.resource == b.resource && std::ranges::any_of(a.ids, [&](const std::string& id) {
           return std::ranges::find(b.ids, id) != b.ids.end();
         });
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
  TRY(store->restore());
  TRY(store->rewrite());
  return store;
}

GrantStore::~GrantStore() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> GrantStore::restore() {
  const auto text = fs_.read(dir_ / kFile, kLongestFile);
  if (!text && text.error().code == Code::kNotFound) return {};
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
    supersede(record->grant);
    records_.push_back(*std::move(record));
  }
  if (rejected.empty()) return {};
  const auto before = fs_.read(dir_ / kRejected, kLongestFile).value_or("");
  return fs_.write_atomic(dir_ / kRejected, before + rejected, 0600);
}

Result<void> GrantStore::add(const offer::Grant& grant) {
  offer::GrantRecord record{grant, unix_ms(clock_)};
  const auto line = offer::encode(record) + "\n";
  const std::scoped_lock lock(mutex_);
  supersede(grant);
  records_.push_back(std::move(record));
  if (lines_ > records_.size() + kSlack) return rewrite();
  return append(line);
}

void GrantStore::supersede(const offer::Grant& grant) {
  std::erase_if(records_, [&](const auto& record) { return shares_id(record.grant, grant); });
}

Result<void> GrantStore::append(const std::string& line) {
  const ssize_t n = ::write(fd_, line.data(), line.size());
  if (n == static_cast<ssize_t>(line.size())) {
    ++lines_;
    return {};
  }
  return std::unexpected(errno_error(n < 0 ? errno : ENOSPC, "write " + (dir_ / kFile).string()));
}

Result<void> GrantStore::rewrite() {
  std::string content;
  for (const auto& record : records_) content.append(offer::encode(record)).append("\n");
  TRY(fs_.write_atomic(dir_ / kFile, content, 0600, true));
  lines_ = records_.size();
  return reopen();
}

Result<void> GrantStore::reopen() {
  const auto path = dir_ / kFile;
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
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
  const auto gone = std::erase_if(records_, [&](const auto& record) {
    const auto& grant = record.grant;
    return record.granted_at_ms < settled_before &&
           std::ranges::none_of(
               grant.ids,
               [&](const auto& id) { return live.contains({grant.resource.value, id}); });
  });
  if (gone == 0) return;
  if (const auto written = rewrite(); !written) log_.warn(written.error());
}

std::vector<offer::GrantRecord> GrantStore::all() const {
  const std::scoped_lock lock(mutex_);
  return records_;
}

}  // namespace tranche::agent
