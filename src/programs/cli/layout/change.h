#pragma once
// A change of the layouts of this machine's GPUs by hand: plans it, shows it, checks who uses what,
// and makes it, with a journal file so that the next call finishes or undoes an interrupted change.

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"
#include "gpu/machine.h"
#include "gpu/mig_control.h"
#include "mig/apply.h"
#include "mig/change.h"
#include "mig/journal.h"
#include "mig/layout.h"

namespace tranche::cli {

// The journal of the running change. Storing one creates the folder.
class JournalFile {
 public:
  JournalFile(FsRoot fs, std::filesystem::path file) : fs_(std::move(fs)), file_(std::move(file)) {}

  // nullopt: no change was interrupted. kInvalidArgument: unreadable; the hint says what to do.
  Result<std::optional<mig::Journal>> load() const;
  // Returns once it would survive a power failure.
  Result<void> store(const mig::Journal& journal) const;
  Result<void> remove() const { return fs_.remove(file_); }

 private:
  FsRoot fs_;
  std::filesystem::path file_;
};

struct LayoutChange {
  std::map<gpu::GpuUuid, gpu::MigState> present;
  mig::Layout
      undo;  // what the GPUs go back to; before a change that was cut off, what they had then
  mig::Change change;  // from what is present
};

// The change from the GPUs' present layouts to the wishes. GPUs of `cut_off` without a wish go back
// to what they had before it.
Result<LayoutChange> plan_layout(const std::map<gpu::GpuUuid, mig::GpuWish>& wishes,
                                 const gpu::Machine& machine, gpu::MigControl& control,
                                 const std::optional<mig::Journal>& cut_off);

// For people: each GPU's present and future layout, with the instances that go, stay and come.
std::string show(const LayoutChange& change, const gpu::Machine& machine);

// UUIDs of GPUs and MIG devices -> "python (pid 4711)" of each process that uses one.
using UsersOf = std::function<Result<std::vector<std::string>>(std::vector<std::string> uuids)>;
// kFailedPrecondition: processes use leaving instances; they are named.
Result<void> check_unused(const LayoutChange& change, const gpu::Machine& machine,
                          const UsersOf& users_of);

// For a dry run. kUnsupported: a mode most likely changes only by a reboot; the hint says what to
// do. `take_layout` does not ask, because the driver decides.
Result<void> check_resets(const LayoutChange& change, const gpu::Machine& machine);

struct LayoutEnd {
  std::optional<Error> trouble;       // nullopt: the GPUs have the wished layout
  std::optional<Error> undo_trouble;  // nullopt: after `trouble` they have the old layout
};
struct LayoutWork {
  mig::Hardware hardware;
  const JournalFile& journal;
  const Clock& clock;
  mig::Watcher watcher;
  mig::Retries retries;
  // Undoes the change; undoing is not stopped.
  std::stop_token stop = {};
};
// `name`: of the layout.
LayoutEnd take_layout(const LayoutChange& change, const std::string& name, const LayoutWork& work);

}  // namespace tranche::cli
