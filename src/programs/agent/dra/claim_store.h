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
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"
#include "dra/prepared.h"
#include "process/process_lock.h"

namespace tranche::agent {

class ClaimStore {
 public:
  ClaimStore(std::filesystem::path dir, const Log& log) : dir_(std::move(dir)), log_(log) {}

  // While it lives, no other thread or process reads or writes the store.
  class Locked {
   public:
    // By uid. An unreadable file is renamed to <uid>.damaged, with an error in the log: its claim
    // is prepared again when kubelet asks for it.
    Result<std::map<std::string, dra::PreparedClaim>> all();
    Result<void> put(const dra::PreparedClaim& claim);
    // A missing file is no error.
    Result<void> remove(const std::string& uid);

   private:
    friend class ClaimStore;
    Locked(ClaimStore& store, std::unique_lock<std::mutex> turn,
           std::unique_ptr<process::ProcessLock> lock)
        : store_(store), turn_(std::move(turn)), lock_(std::move(lock)) {}
    Result<void> take_up(const std::string& name, const std::string& uid);

    ClaimStore& store_;
    std::unique_lock<std::mutex> turn_;
    std::unique_ptr<process::ProcessLock> lock_;
  };
  // Makes the folder if needed. kTimeout: another process has held the lock for kLongestWait.
  Result<Locked> lock();
  static constexpr std::chrono::seconds kLongestWait{10};

 private:
  std::filesystem::path file_of(const std::string& uid) const { return dir_ / (uid + ".json"); }

  const std::filesystem::path dir_;
  const Log& log_;
  FsRoot fs_;
  std::mutex turn_;
  std::map<std::string, dra::PreparedClaim> read_;  // by uid; of whoever has the turn
};

}  // namespace tranche::agent
