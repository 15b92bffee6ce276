#pragma once
// The grants that this node has given out, on disk: <dir>/grants.jsonl, one grant/v1 record a line.
//
// A grant outlives the call that made it: kubelet replays its own copy at restarts of container,
// kubelet and node, and never asks again. So a grant is appended (one write) before Allocate is
// answered, all are restored before the agent registers, and a record goes only when everybody who
// may know says that nobody holds its ids (holders.h). Appends survive the agent's death at any
// moment; a line torn by a power cut is moved to <dir>/rejected.jsonl and reported. It is forgotten
// when every held id belongs to a known grant.
//
// On a full disk, or with a read-only folder, a grant with a tenant is refused: its limits must
// outlive this agent. Any other is answered, as by NVIDIA's plugin, kept in memory, and written
// when possible. That is logged once, and standing() reports it.
//
// Thread-safe: gRPC threads add while the agent prunes. Adding waits for its own write and for no
// other thread's (grant_file.h). Records, and the holder of each id, are in memory under a lock
// that is never held while the disk is touched. Only lines that share an id depend on their order:
// the later one supersedes. Kubelet never grants an id twice at once; if it did, the second add
// would wait.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/grants/grant_file.h"
#include "agent/grants/holders.h"
#include "agent/grants/rejected_grants.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"
#include "offer/grant_record.h"

namespace tranche::agent {

class GrantStore {
 public:
  // Who appends to the file. During a handover both agents do, and neither replaces the file nor
  // drops a record.
  enum class Writers { kThis, kTwo };

  // Creates the folder and restores its records. `on_step` is for tests. Error: there are grants,
  // and they are unreadable. A read-only folder is no error (see above).
  static Result<std::unique_ptr<GrantStore>> open(const std::filesystem::path& dir,
                                                  const Clock& clock, const Log& log,
                                                  GrantFile::OnStep on_step = {},
                                                  Writers writers = Writers::kThis);
  GrantStore(const GrantStore&) = delete;
  GrantStore& operator=(const GrantStore&) = delete;

  // Records a grant. Older records lose its ids, because kubelet grants an id again only when its
  // last holder is gone. One exception: a Pod's init container and its container may be granted the
  // same ids before either starts. So an older grant with a tenant (files on the host that its
  // container needs) no older than kSettle is kept until one of its ids is granted later or nobody
  // holds any of them. After an error, which only a grant with a tenant can have, the grant is not
  // recorded.
  Result<void> add(const offer::Grant& grant);

  // Drops the records that are over: `holders` name none of their ids, and named none
  // `holders.agree` ago. Records younger than kSettle stay: kubelet lists a container's ids only
  // after the call that granted them has returned. Logs what it drops. True: only kubelet's
  // checkpoint names ids of a record. It may be old; kubelet writes it when it receives a list of
  // devices.
  bool prune(const Holders& holders);
  // Kubelet did not answer: its next answer counts as the first of two.
  void unanswered();
  // Retries what could not be written.
  void save();

  void share();
  // The other process has ended: adds the grants that it appended, and returns them. An error: they
  // are unreadable; the file stays as it is.
  Result<std::vector<offer::GrantRecord>> own();
  bool is_shared() const { return shared_; }

  std::vector<offer::GrantRecord> all() const;
  // True: some stored grants are unreadable, so there may be more than all().
  bool incomplete() const { return incomplete_; }
  // The error because of which grants are not stored now.
  Result<void> standing() const;

  static constexpr std::chrono::seconds kSettle{60};

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  GrantStore(std::filesystem::path dir, const Clock& clock, const Log& log, GrantFile::OnStep step);

  struct Entry {
    std::shared_ptr<const offer::GrantRecord> record;
    bool written = false;               // its add() has ended; it is not dropped before that
    std::optional<TimePoint> missed{};  // when kubelet first no longer listed it
  };
  using Record = std::list<Entry>::iterator;
  using Records = std::vector<std::shared_ptr<const offer::GrantRecord>>;

  struct Found {
    std::size_t lines = 0;
    bool clean = true;  // it can be appended to as it is
  };
  Result<Found> restore();
  std::optional<offer::GrantRecord> take_up(const std::string& line);
  Result<void> open_file(std::size_t lines);
  Result<void> rewrite(FsRoot::Sync sync);
  std::int64_t unix_time_ms() const;
  // The state of one prune().
  struct Look {
    HeldIds listed;
    HeldIds remembered;
    bool only_remembered = false;
    std::string why;  // reason to keep grants that seem over
  };
  Records over(const Holders& holders, Look& look);
  void keep_living(const Holders& holders, Records& gone, Look& look);
  void keeps_for(std::string why);
  void drop(const Records& gone, std::chrono::milliseconds unlisted);
  void forget_rejected(const Holders& holders, Look& look);
  bool knows_all(const HeldIds& ids) const;
  void say(const Error& error);
  Records records() const;
  Records records_locked() const;
  bool is_being_added(const offer::Grant& grant) const;
  Record keep(std::shared_ptr<const offer::GrantRecord> record);
  void supersede(Record older, const offer::GrantRecord& by);
  void drop(Record record);
  void compact(FsRoot::Sync sync);

  std::filesystem::path dir_;
  const Clock& clock_;
  const Log& log_;
  const GrantFile::OnStep on_step_;
  FsRoot fs_;
  std::atomic<bool> incomplete_ = false;
  std::atomic<bool> shared_ = false;
  std::size_t read_ = 0;  // bytes of the file that restore() has read

  // Guards the members below; never held while the disk is touched.
  mutable std::mutex mutex_;
  std::condition_variable written_;  // an entry's line was written
  // Records in the order of the grants, and the record that holds each id, by "<resource> <id>".
  std::list<Entry> records_;
  std::unordered_map<std::string, Record> holders_;
  // Superseded by a later grant, but kept for their tenant (see add()).
  std::vector<Record> superseded_;
  bool stale_ = false;  // the file has lines that should go, or lacks some
  // Null until the file can be opened.
  std::unique_ptr<GrantFile> file_;
  std::optional<Error> trouble_;  // why grants are not stored

  std::mutex compacting_;  // held by the compacting thread; add() only tries the lock
  // Only under compacting_, from here.
  RejectedGrants rejected_;
  const TimePoint opened_;
  std::string complaint_;                 // of compact(), logged last
  std::string kept_for_;                  // why grants that seem over were kept, logged last
  std::optional<TimePoint> known_since_;  // since when every held id belongs to a known grant
};

}  // namespace tranche::agent
