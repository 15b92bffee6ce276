#pragma once
// The manager's files in <state-dir>/mig: journal.json, the change in progress, and applied.json,
// the outcome of the last wish. Each write is synced when it returns. Used by one thread.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "agent/mig/mig_machine.h"
#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

std::string encode(const MigOutcome& outcome);
// kInvalidArgument: torn, edited or of another version.
Result<MigOutcome> decode_outcome(std::string_view text);

class MigFiles {
 public:
  explicit MigFiles(const std::filesystem::path& state_dir) : dir_(state_dir / "mig") {}

  // nullopt: there is none. kInvalidArgument: torn, edited or of another version.
  Result<std::optional<mig::Journal>> journal() const;
  Result<void> store(const mig::Journal& journal) const;
  Result<void> drop_journal() const;

  Result<std::optional<MigOutcome>> outcome() const;
  Result<void> store(const MigOutcome& outcome) const;
  Result<void> drop_outcome() const;

 private:
  Result<std::optional<std::string>> read(const char* name) const;
  Result<void> write(const char* name, const std::string& text) const;

  FsRoot fs_;
  std::filesystem::path dir_;
};

}  // namespace tranche::agent
