#include "agent/node/node_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/descriptor.h"
#include "base/envelope.h"
#include "base/fs.h"
#include "base/json_fields.h"
#include "base/json_value.h"

namespace tranche::agent {
namespace {

constexpr EnvelopeKind kOwner{.version = "node-owner/v1", .key = "owner"};
constexpr std::size_t kLongestOwner = 4096;

// Writes over the file in its place: its inode is what is locked.
Result<void> write_in_place(const std::filesystem::path& file, std::string_view text) {
  const auto failed = [&](const char* what) {
    return std::unexpected(errno_error(errno, fmt::format("{} {}", what, file.string())));
  };
  const Descriptor fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.is_open()) return failed("open");
  const auto size = static_cast<ssize_t>(text.size());
  if (size > 0 && ::pwrite(fd.get(), text.data(), text.size(), 0) != size) return failed("write");
  if (::ftruncate(fd.get(), size) != 0) return failed("truncate");
  if (::fsync(fd.get()) != 0) return failed("sync");
  return {};
}

// Takes the lock when it is this agent's turn.
class Claimant {
 public:
  Claimant(const NodeClaim& claim, bool take_over, const Clock& clock,
           const std::function<bool(const ClaimWait&)>& waiting)
      : claim_(claim),
        patience_(take_over ? std::chrono::minutes(0) : kClaimPatience),
        clock_(clock),
        waiting_(waiting) {}

  Result<std::unique_ptr<process::ProcessLock>> take() {
    while (true) {
      if (is_others()) {
        if (!go_on()) return nullptr;
        continue;
      }
      // A cleanup removes the folder.
      TRY(FsRoot().make_directories(claim_.file().parent_path()));
      auto lock = process::ProcessLock::take(claim_.file(), [&] {
        free_since_.reset();
        return go_on();
      });
      if (!lock || !*lock) return lock;
      // Whoever held the lock until now may have claimed the node.
      const auto other = claim_.other();
      if (!other || other == outwaited_) return lock;
    }
  }

 private:
  // Whether another release has the node. One whose agent has been away for long has lost it.
  bool is_others() {
    const auto other = claim_.other();
    if (!other) return false;
    if (claim_.is_held()) {
      free_since_.reset();
      return true;
    }
    const auto now = clock_.now();
    if (!free_since_) free_since_ = now;
    if (now - *free_since_ < patience_) return true;
    outwaited_ = other;
    return false;
  }

  bool go_on() {
    return waiting_({.first = std::exchange(first_, false), .other = claim_.other()});
  }

  const NodeClaim& claim_;
  const std::chrono::nanoseconds patience_;
  const Clock& clock_;
  const std::function<bool(const ClaimWait&)>& waiting_;
  bool first_ = true;
  std::optional<std::chrono::steady_clock::time_point> free_since_;
  std::optional<std::string> outwaited_;  // the release whose time is over
};

}  // namespace

Result<std::optional<std::string>> NodeClaim::owner() const {
  const auto text = FsRoot().read(file_, kLongestOwner);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  if (text->empty()) return std::nullopt;
  const auto body = unseal(kOwner, *text);
  const auto release = body ? json::read_fields(*body,
                                                [](const json::Fields& fields) {
                                                  return fields.need<std::string>("release");
                                                })
                            : std::unexpected(body.error());
  if (release) return *release;
  return fail(Code::kInvalidArgument,
              fmt::format("{}: which release serves this node is not known: {}", file_.string(),
                          release.error().what),
              "remove the file while no agent runs here");
}

std::optional<std::string> NodeClaim::other() const {
  const auto owner = this->owner();
  if (!owner || !*owner || **owner == release_) return std::nullopt;
  return **owner;
}

Result<void> NodeClaim::write() const {
  if (release_.empty()) return clear();
  const auto now = owner();
  if (now && *now == release_) return {};
  const json::Value body = {{"release", release_}};
  return write_in_place(file_, seal(kOwner, body.text(json::Value::Order::kSorted)) + "\n");
}

Result<void> NodeClaim::clear() const {
  const auto now = owner();
  if (now && !*now) return {};
  return write_in_place(file_, "");
}

Result<std::unique_ptr<process::ProcessLock>> take_turn(
    const NodeClaim& claim, bool take_over, const Clock& clock,
    const std::function<bool(const ClaimWait&)>& waiting) {
  return Claimant(claim, take_over, clock, waiting).take();
}

}  // namespace tranche::agent
