#include "arbiter/foreign_files.h"

#include "host/process.h"

namespace tranche::arbiter {

using limit::Finding;

void ForeignFiles::note(const std::string& tenant, const tenant::ProcessId& process) {
  Finding finding{.kind = Finding::Kind::kForeignUsageFile,
                  .tenant = tenant,
                  .pid = process.pid,
                  .start_time = process.start_time,
                  .since = clock_.wall_now()};
  const auto facts = host::read_process(host_, process.pid);
  if (facts && facts->start_time == process.start_time) {
    finding.name = facts->name;
    finding.cgroup = facts->cgroup.value_or("");
  }
  entries_.insert_or_assign(tenant, Entry{std::move(finding), clock_.now()});
}

void ForeignFiles::describe(limit::ArbiterStatus& status) const {
  for (const auto& [tenant, entry] : entries_) {
    if (clock_.now() - entry.seen < kStays) status.findings.push_back(entry.finding);
  }
}

}  // namespace tranche::arbiter
