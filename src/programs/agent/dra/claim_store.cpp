#include "agent/dra/claim_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "base/remove_tree.h"
#include "base/uuid.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kClaimSuffix = ".json";
constexpr std::size_t kLargestClaim = std::size_t{256} << 10U;
constexpr std::chrono::milliseconds kLockRetry{5};

// The uid in the name of a record; empty: another file.
std::string uid_of(const std::string& name) {
  if (!name.ends_with(kClaimSuffix)) return {};
  auto uid = name.substr(0, name.size() - kClaimSuffix.size());
  return is_uuid(uid) ? uid : std::string();
}

}  // namespace

bool ClaimStore::is_empty() const {
  const auto names = fs_.list(dir_);
  if (!names) return names.error().code == Code::kNotFound;
  return std::ranges::all_of(*names, [](const std::string& name) { return uid_of(name).empty(); });
}

Result<ClaimStore::Locked> ClaimStore::lock() {
  std::unique_lock turn(turn_);
  TRY(fs_.make_directories(dir_));
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  auto held = process::ProcessLock::take(dir_ / "lock", [end] {
    std::this_thread::sleep_for(kLockRetry);
    return std::chrono::steady_clock::now() < end;
  });
  if (!held) return std::unexpected(std::move(held).error());
  if (*held == nullptr) {
    return fail(Code::kTimeout,
                fmt::format("another process has held {} for {} s", (dir_ / "lock").string(),
                            kLongestWait.count()),
                "two agents on this node? `fuser -v` names it");
  }
  return Locked(*this, std::move(turn), *std::move(held));
}

// A FIFO is not opened: that would wait for a writer.
Result<dra::PreparedClaim> ClaimStore::read(const std::string& uid) const {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(file_of(uid), error);
  if (!std::filesystem::is_regular_file(status) && std::filesystem::exists(status)) {
    return fail(Code::kInvalidArgument, "it is no file");
  }
  ASSIGN_OR_RETURN(const auto text, fs_.read(file_of(uid), kLargestClaim));
  ASSIGN_OR_RETURN(auto claim, dra::decode_prepared(text));
  if (claim.uid == uid) return claim;
  return fail(Code::kInvalidArgument, "it is of another claim");
}

void ClaimStore::Locked::take_up(const std::string& uid) {
  auto claim = store_.read(uid);
  if (claim) {
    store_.read_.insert_or_assign(uid, *std::move(claim));
    return;
  }
  const auto& error = claim.error();
  if (error.code == Code::kNotFound) return;
  store_.lost_.insert(uid);
  if (error.code == Code::kUnsupported) store_.others_.insert(uid);
  if (!store_.said_.is_news(uid, error.what)) return;
  store_.log_.error(fmt::format("the record {} cannot be read: {}; what its containers have stays",
                                store_.file_of(uid).string(), error.message()));
}

Result<std::map<std::string, dra::PreparedClaim>> ClaimStore::Locked::all() {
  ASSIGN_OR_RETURN(const auto names, store_.fs_.list(store_.dir_));
  std::set<std::string> there;
  for (const auto& name : names) {
    if (auto uid = uid_of(name); !uid.empty()) there.insert(std::move(uid));
  }
  store_.lost_.clear();
  for (const auto& uid : there) {
    if (!store_.read_.contains(uid)) take_up(uid);
  }
  std::erase_if(store_.read_, [&](const auto& one) { return !there.contains(one.first); });
  std::erase_if(store_.others_, [&](const auto& uid) { return !there.contains(uid); });
  store_.said_.retain([&](const auto& uid) { return there.contains(uid); });
  return store_.read_;
}

Result<void> ClaimStore::Locked::put(const dra::PreparedClaim& claim) {
  if (!store_.others_.contains(claim.uid)) {
    TRY(store_.fs_.write_atomic(store_.file_of(claim.uid), dra::encode(claim)));
  }
  store_.read_.insert_or_assign(claim.uid, claim);
  store_.lost_.erase(claim.uid);
  return {};
}

Result<void> ClaimStore::Locked::remove(const std::string& uid) {
  TRY(remove_tree(store_.file_of(uid)));
  store_.read_.erase(uid);
  store_.lost_.erase(uid);
  store_.others_.erase(uid);
  return {};
}

}  // namespace tranche::agent
