#include "agent/dra/claim_store.h"

#include <fmt/format.h>

#include <set>
#include <thread>
#include <utility>

#include "base/uuid.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kClaimSuffix = ".json";
constexpr std::size_t kLargestClaim = std::size_t{256} << 10U;
constexpr std::chrono::milliseconds kLockRetry{5};

}  // namespace

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

Result<void> ClaimStore::Locked::take_up(const std::string& name, const std::string& uid) {
  auto& [dir, log, fs, ignored, read] = store_;
  const auto text = fs.read(dir / name, kLargestClaim);
  if (!text && text.error().code != Code::kInvalidArgument) return std::unexpected(text.error());
  auto claim = text ? dra::decode_prepared(*text)
                    : Result<dra::PreparedClaim>(std::unexpected(text.error()));
  if (claim && claim->uid == uid) {
    read.insert_or_assign(uid, *std::move(claim));
    return {};
  }
  log.error(fmt::format("the record of claim {} is damaged and set aside as {}.damaged: {}", uid,
                        (dir / uid).string(),
                        claim ? "it is of another claim" : claim.error().message()));
  std::error_code error;
  std::filesystem::rename(dir / name, dir / (uid + ".damaged"), error);
  if (error) return std::unexpected(errno_error(error.value(), "rename " + (dir / name).string()));
  return {};
}

Result<std::map<std::string, dra::PreparedClaim>> ClaimStore::Locked::all() {
  ASSIGN_OR_RETURN(const auto names, store_.fs_.list(store_.dir_));
  std::set<std::string> there;
  for (const auto& name : names) {
    if (!name.ends_with(kClaimSuffix)) continue;
    const auto uid = name.substr(0, name.size() - kClaimSuffix.size());
    if (!is_uuid(uid)) continue;
    there.insert(uid);
    if (!store_.read_.contains(uid)) TRY(take_up(name, uid));
  }
  std::erase_if(store_.read_, [&](const auto& one) { return !there.contains(one.first); });
  return store_.read_;
}

Result<void> ClaimStore::Locked::put(const dra::PreparedClaim& claim) {
  TRY(store_.fs_.write_atomic(store_.file_of(claim.uid), dra::encode(claim)));
  store_.read_.insert_or_assign(claim.uid, claim);
  return {};
}

Result<void> ClaimStore::Locked::remove(const std::string& uid) {
  TRY(store_.fs_.remove(store_.file_of(uid)));
  store_.read_.erase(uid);
  return {};
}

}  // namespace tranche::agent
