#include "agent/node/node_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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
constexpr const char* kLockFile = "agent.lock";

// In place: the lock is on the inode.
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

class Claimant {
 public:
  Claimant(const NodeClaim& claim, bool take_over, const Clock& clock,
           const std::function<bool(const ClaimWait&)>& waiting)
      : claim_(claim),
        patience_(take_over ? std::chrono::minutes(0) : kClaimPatience),
        clock_(clock),
        waiting_(waiting) {}

  Result<std::unique_ptr<NodeLock>> take() {
    while (true) {
      if (const auto other = others_turn()) {
        if (!go_on(other->file, other)) return nullptr;
        continue;
      }
      auto lock = lock_node(claim_, [&](const std::filesystem::path& file) {
        free_since_.reset();
        return go_on(file, claim_.other());
      });
      if (!lock || !*lock) return lock;
      // The previous holder of the locks may have claimed the node.
      const auto other = claim_.other();
      if (!other || other->release == outwaited_) return lock;
    }
  }

 private:
  // The other release that has the node. A release whose agent is away for long loses it.
  std::optional<Claimed> others_turn() {
    auto other = claim_.other();
    if (!other) return std::nullopt;
    if (claim_.is_held()) {
      free_since_.reset();
      return other;
    }
    const auto now = clock_.now();
    if (!free_since_) free_since_ = now;
    if (now - *free_since_ < patience_) return other;
    outwaited_ = other->release;
    return std::nullopt;
  }

  bool go_on(const std::filesystem::path& file, const std::optional<Claimed>& other) {
    return waiting_({.first = std::exchange(first_, false),
                     .other = other ? std::optional(other->release) : std::nullopt,
                     .file = file});
  }

  const NodeClaim& claim_;
  const std::chrono::nanoseconds patience_;
  const Clock& clock_;
  const std::function<bool(const ClaimWait&)>& waiting_;
  bool first_ = true;
  std::optional<std::chrono::steady_clock::time_point> free_since_;
  std::optional<std::string> outwaited_;  // the release whose time is over
};

// nullptr: `waiting` gave up.
Result<std::unique_ptr<process::ProcessLock>> lock_file(const std::filesystem::path& file,
                                                        const std::function<bool()>& waiting) {
  // A cleanup removes the folder.
  TRY(FsRoot().make_directories(file.parent_path()));
  return process::ProcessLock::take(file, waiting);
}

}  // namespace

// What an agent writes into the files that it has locked.
struct NodeClaim::Record {
  std::string release;
  std::optional<std::string> state;  // its state folder, in a file that all agents see
};

NodeClaim::NodeClaim(std::filesystem::path state_dir, std::string release,
                     const std::vector<std::filesystem::path>& shared)
    : state_dir_(std::move(state_dir)), release_(std::move(release)) {
  for (const auto& folder : shared) {
    if (FsRoot().is_directory(folder.parent_path())) files_.push_back(folder / kLockFile);
  }
  files_.push_back(state_dir_ / kLockFile);
}

NodeClaim NodeClaim::of(const config::AgentOptions& options) {
  std::vector<std::filesystem::path> shared;
  if (!options.kubelet_socket.empty())
    shared.emplace_back(options.device_plugins_dir() + "/tranche");
  if (options.dra) {
    shared.emplace_back(options.kubelet_plugins_dir() + "/" + options.dra_driver_name);
  }
  return {options.state_dir, options.release, shared};
}

Result<std::optional<NodeClaim::Record>> NodeClaim::read(const std::filesystem::path& file) {
  const auto text = FsRoot().read(file, kLongestOwner);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  if (text->empty()) return std::nullopt;
  const auto body = unseal(kOwner, *text);
  auto record =
      body ? json::read_fields(*body,
                               [](const json::Fields& fields) {
                                 return Record{.release = fields.need<std::string>("release"),
                                               .state = fields.maybe<std::string>("state")};
                               })
           : std::unexpected(body.error());
  if (record) return *std::move(record);
  return fail(Code::kInvalidArgument,
              fmt::format("{}: which release serves this node is not known: {}", file.string(),
                          record.error().what),
              "remove the file while no agent runs here");
}

Result<std::optional<std::string>> NodeClaim::owner() const {
  std::optional<std::string> owner;
  for (const auto& file : files_) {
    ASSIGN_OR_RETURN(const auto record, read(file));
    if (record && (!owner || *owner == release_)) owner = record->release;
  }
  return owner;
}

std::optional<Claimed> NodeClaim::other() const {
  for (const auto& file : files_) {
    const auto record = read(file);
    if (!record || !*record || (*record)->release == release_) continue;
    return Claimed{.release = (*record)->release, .file = file};
  }
  return std::nullopt;
}

std::optional<std::string> NodeClaim::other_state() const {
  for (const auto& file : files_) {
    const auto record = read(file);
    if (!record || !*record || (*record)->release != release_) continue;
    if ((*record)->state && *(*record)->state != state_dir_.string()) return (*record)->state;
  }
  return std::nullopt;
}

bool NodeClaim::is_held() const {
  return std::ranges::any_of(files_,
                             [](const auto& file) { return process::ProcessLock::is_held(file); });
}

Result<void> NodeClaim::write() const {
  if (release_.empty()) return clear();
  for (const auto& file : files_) {
    if (!FsRoot().exists(file)) continue;  // it could not be made
    json::Value body = {{"release", release_}};
    if (is_shared(file)) body["state"] = state_dir_.string();
    const auto text = seal(kOwner, body.text(json::Value::Order::kSorted)) + "\n";
    if (FsRoot().read(file, kLongestOwner) == text) continue;
    TRY(write_in_place(file, text));
  }
  return {};
}

Result<void> NodeClaim::clear() const {
  for (const auto& file : files_) {
    const auto now = read(file);
    if (!now || *now) TRY(write_in_place(file, ""));
  }
  return {};
}

Result<void> NodeClaim::remove() const {
  for (const auto& file : files_) {
    const auto folder = file.parent_path();
    TRY(FsRoot().remove(folder / kHandoverSocket));
    TRY(FsRoot().remove(folder / fmt::format("{}.new", kHandoverSocket)));
    TRY(FsRoot().remove(file));
    std::error_code stays_there;  // the folder is mounted here, or has other files
    std::filesystem::remove(folder, stays_there);
  }
  return {};
}

Result<std::unique_ptr<NodeLock>> lock_node(
    const NodeClaim& claim, const std::function<bool(const std::filesystem::path& file)>& waiting,
    NodeLock held) {
  auto node = std::make_unique<NodeLock>();
  for (const auto& file : claim.files()) {
    if (const auto has = std::ranges::find(held.files, file, &NodeLock::File::path);
        has != held.files.end()) {
      node->files.push_back(std::move(*has));
      continue;
    }
    auto lock = lock_file(file, [&] { return waiting(file); });
    if (!lock) {
      node->trouble = lock.error();
    } else if (*lock == nullptr) {
      return nullptr;
    } else {
      node->files.push_back({file, *std::move(lock)});
    }
  }
  if (node->files.empty()) return std::unexpected(*std::move(node->trouble));
  return node;
}

Result<std::unique_ptr<NodeLock>> take_turn(const NodeClaim& claim, bool take_over,
                                            const Clock& clock,
                                            const std::function<bool(const ClaimWait&)>& waiting) {
  return Claimant(claim, take_over, clock, waiting).take();
}

}  // namespace tranche::agent
