#pragma once
// The prepared claims of this node, as files: <dir>/<uid>.json (dra/prepared.h). A file is written
// once, before kubelet is answered, and removed when all that it stands for is gone.
//
// During a handover two agents may run, and kubelet may call either. So nothing is cached between
// calls: a caller locks the store, and then sees the other agent's changes. A file never changes
// under its name, so it is read once as long as the name exists.
//
// Needs no sync to disk: after a power cut the boot id differs, and nothing is prepared.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"
#include "base/said_once.h"
#include "dra/prepared.h"
#include "process/process_lock.h"

namespace tranche::agent {

class ClaimStore {
 public:
  ClaimStore(std::filesystem::path dir, const Log& log) : dir_(std::move(dir)), log_(log) {}

  // While it lives, no other thread or process reads or writes the store.
  class Locked {
   public:
    // By uid, without the lost ones.
    Result<std::map<std::string, dra::PreparedClaim>> all();
    // The claims, by uid, whose records were there and could not be read by the last all():
    // damaged, of another release, no files. Their containers may run, so nothing of theirs is
    // removed (agent/dra/claim_recovery.h). The log names each once.
    const std::set<std::string>& lost() const { return store_.lost_; }
    // Replaces a damaged record. One of another release stays on disk: that release may come back.
    Result<void> put(const dra::PreparedClaim& claim);
    // Also a lost record. A missing one is no error.
    Result<void> remove(const std::string& uid);

   private:
    friend class ClaimStore;
    Locked(ClaimStore& store, std::unique_lock<std::mutex> turn,
           std::unique_ptr<process::ProcessLock> lock)
        : store_(store), turn_(std::move(turn)), lock_(std::move(lock)) {}
    void take_up(const std::string& uid);

    ClaimStore& store_;
    std::unique_lock<std::mutex> turn_;
    std::unique_ptr<process::ProcessLock> lock_;
  };
  // Makes the folder if needed. kTimeout: another process has held the lock for kLongestWait.
  Result<Locked> lock();
  // Whether it is known, without a lock, that there are no records.
  bool is_empty() const;
  static constexpr std::chrono::seconds kLongestWait{10};

 private:
  std::filesystem::path file_of(const std::string& uid) const { return dir_ / (uid + ".json"); }
  Result<dra::PreparedClaim> read(const std::string& uid) const;

  const std::filesystem::path dir_;
  const Log& log_;
  FsRoot fs_;
  std::mutex turn_;
  // By uid; of whoever has the turn.
  std::map<std::string, dra::PreparedClaim> read_;
  std::set<std::string> lost_;
  std::set<std::string> others_;  // of another release, also those that were put() since
  SaidOnce said_;
};

}  // namespace tranche::agent
