#pragma once
// The prepared claims of this node, as files: <dir>/<uid>.json (dra/prepared.h). A file is written
// once, before kubelet is answered, and removed when all that it stands for is gone.
//
// Two agents may be there at once, while one hands over to the next, and kubelet may call either.
// So nothing is taken for granted from one call to the next: a caller locks the store, and then
// sees what the other one did. Files never change under their name, so what was read once is not
// read again while the name is there.
//
// Needs no sync to the disk: after a power cut the boot id is another, and nothing is prepared.

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
  // `log` must outlive it.
  ClaimStore(std::filesystem::path dir, const Log& log) : dir_(std::move(dir)), log_(log) {}

  // While it lives, nobody else reads or writes the store: no other thread, and no other process.
  class Locked {
   public:
    // By uid. A file that cannot be read is set aside as <uid>.damaged, with an error in the log:
    // its claim is prepared again when kubelet asks for it.
    Result<std::map<std::string, dra::PreparedClaim>> all();
    Result<void> put(const dra::PreparedClaim& claim);
    // It is no error if there is none.
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
  // Makes the folder if need be. kTimeout: another process has held the lock for kLongestWait.
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
