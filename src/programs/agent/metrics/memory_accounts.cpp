#include <algorithm>

#include "agent/metrics/tranche_parts.h"
#include "agent/metrics/usage_row.h"
#include "gpu/devices.h"

namespace tranche::agent {
namespace {

std::vector<const UsageRow*> rows_of(const std::string& gpu, const UsageRows& rows) {
  std::vector<const UsageRow*> found;
  for (const auto& [key, row] : rows) {
    if (row.made.figures.gpu == gpu) found.push_back(&row);
  }
  return found;
}

// By the arbiter's word it is known whose some of the unknown memory is.
void add_told_by_arbiter(const UsageRow& row, usage::MemoryAccount& account) {
  const auto told = row.made.figures.memory_used.value_or(0);
  if (told <= row.memory) return;
  const auto more = std::min(told - row.memory, account.unknown);
  account.containers += more;
  account.unknown -= more;
}

usage::MemoryAccount account_of(const gpu::Gpu& gpu, const gpu::MemoryFigures& memory,
                                const UsageRows& all, const SumsByDevice& sums) {
  usage::MemoryAccount account{.gpu = gpu.uuid.value,
                               .total = memory.total.value,
                               .free = memory.free.value,
                               .reserved = memory.reserved.value_or(Bytes{}).value};
  bool is_read = true;
  for (const auto& device : gpu::used_devices(gpu)) {
    const auto of = sums.find(device);
    is_read = is_read && of != sums.end();
    if (of == sums.end()) continue;
    account.host_processes += of->second.host;
    account.unknown += of->second.unknown;
  }
  const auto rows = rows_of(gpu.uuid.value, all);
  for (const auto* row : rows) account.containers += row->memory;
  const auto used = memory.used.value;
  const auto told = account.containers + account.host_processes + account.unknown;
  // Without a list of processes, all that is used is of unknown processes.
  (is_read ? account.unattributed : account.unknown) += used > told ? used - told : 0;
  account.excess = told > used ? told - used : 0;
  for (const auto* row : rows) add_told_by_arbiter(*row, account);
  return account;
}

}  // namespace

std::vector<usage::MemoryAccount> memory_accounts(
    const gpu::Machine& machine, const std::map<std::string, gpu::MemoryFigures>& memory,
    const UsageRows& rows, const SumsByDevice& sums) {
  std::vector<usage::MemoryAccount> accounts;
  for (const auto& gpu : machine.gpus) {
    const auto figures = memory.find(gpu.uuid.value);
    if (figures != memory.end()) accounts.push_back(account_of(gpu, figures->second, rows, sums));
  }
  return accounts;
}

}  // namespace tranche::agent
