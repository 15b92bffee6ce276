#pragma once
// The grants this node has given out, on disk: <dir>/grants.jsonl, one grant/v1 record a line.
//
// A grant outlives the call that made it: kubelet replays its own copy at container restart,
// kubelet restart and reboot and never asks again. So a grant is appended (one write) before
// Allocate is answered, all are restored before the agent registers, and a record goes only when
// kubelet's pod-resources no longer lists its ids. Appends survive the agent's death at any moment;
// a line torn by a power cut is set aside in <dir>/rejected.jsonl and reported, never dropped in
// silence.
//
// Thread-safe: gRPC threads add while the agent prunes. A thread that adds waits for its own write
// and for no other thread's (grant_file.h). The records, and the holder of each id, are in memory
// under a lock that is never held while the disk is touched. The order of lines matters only among
// those that share an id: the later one supersedes. Kubelet never grants an id twice at once;
// should it happen, the second add waits for the first.

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/plugins/grant_file.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/pod_resources.h"
#include "offer/grant_record.h"

namespace tranche::agent {

class GrantStore {
 public:
  // Creates the folder and restores the records in it. `clock` and `log` must outlive the store.
  // `on_step` is for tests.
  static Result<std::unique_ptr<GrantStore>> open(const std::filesystem::path& dir,
                                                  const Clock& clock, const Log& log,
                                                  GrantFile::OnStep on_step = {});
  GrantStore(const GrantStore&) = delete;
  GrantStore& operator=(const GrantStore&) = delete;

  // Records a grant. Its ids are taken from older records that hold them, because kubelet grants an
  // id again only when its last holder is gone. There is one exception: a Pod's init container and
  // its container may have the same ids, granted one after the other before either starts. So an
  // older grant with a tenant (files on the host that its container needs) is kept if it is no
  // older than kSettle, until one of its ids is granted later or nobody holds any of them. After an
  // error the grant is not recorded.
  Result<void> add(const offer::Grant& grant);

  // Drops the records of which nobody holds an id, unless they are younger than kSettle: kubelet
  // lists a container's ids only after the call that granted them has returned.
  void prune(std::span<const cluster::HeldDevices> held);

  std::vector<offer::GrantRecord> all() const;
  // True: some stored grants could not be read, so there may be more than all().
  bool incomplete() const { return incomplete_; }

  static constexpr std::chrono::seconds kSettle{60};

 private:
  GrantStore(std::filesystem::path dir, const Clock& clock, const Log& log)
      : dir_(std::move(dir)), clock_(clock), log_(log) {}

  struct Entry {
    std::shared_ptr<const offer::GrantRecord> record;
    bool written = false;  // its line is written; until then it is not dropped
  };
  using Record = std::list<Entry>::iterator;
  using Records = std::vector<std::shared_ptr<const offer::GrantRecord>>;

  Result<std::optional<std::size_t>> restore();
  Records records() const;
  Records records_locked() const;
  bool is_being_added(const offer::Grant& grant) const;
  Record keep(std::shared_ptr<const offer::GrantRecord> record);
  void supersede(Record older, const offer::GrantRecord& by);
  void drop(Record record);
  void compact(bool sync);

  std::filesystem::path dir_;
  const Clock& clock_;
  const Log& log_;
  FsRoot fs_;
  bool incomplete_ = false;          // since open()
  std::unique_ptr<GrantFile> file_;  // since open()

  // Guards the members below; never held while the disk is touched.
  mutable std::mutex mutex_;
  std::condition_variable written_;  // notified when an entry's line was written
  // `records_`: in the order of the grants. `holders_`: the record that holds an id, by "<resource>
  // <id>".
  std::list<Entry> records_;
  std::unordered_map<std::string, Record> holders_;
  // Superseded by a later grant, and kept for their tenant (see add()).
  std::vector<Record> superseded_;
  bool stale_ = false;  // the file has lines that should go

  std::mutex compacting_;  // one thread compacts at a time; add() only tries the lock
  std::string complaint_;  // the failure of compact() logged last
};

}  // namespace tranche::agent
