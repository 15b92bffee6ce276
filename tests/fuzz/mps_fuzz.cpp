// Answers of NVIDIA's MPS control daemon in each protocol, its program's version text,
// /proc/meminfo, and the `.started` file. The first byte chooses; the rest is the text.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "mps/capability.h"
#include "mps/partitions.h"
#include "mps/protocol.h"
#include "mps/ready_file.h"
#include "mps/shm.h"
#include "support/temp_dir.h"

namespace {

using namespace tranche;

constexpr std::string_view kUuid = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65";

void require(bool holds) {
  if (!holds) std::abort();
}

mps::Daemon daemon(int threads) {
  return {.resource = {"nvidia.com/gpu"},
          .devices = {{.uuid = std::string(kUuid), .limit_mib = 4096, .replicas = 3}},
          .thread_percentage = threads,
          .partitions = config::EqualChunks{}};
}

void check_chunks(const mps::Protocol& protocol, const std::string& answer) {
  const auto total = protocol.chunks_of(answer, kUuid);
  if (!total) return;
  require(*total >= 0);
  const auto before = daemon(50);
  if (const auto each = mps::chunks_each(before, before.devices[0], *total)) {
    require(*each >= 1 && *each <= *total / before.devices[0].replicas);
  }
}

void check_judge(const mps::Question& question, const std::string& answer) {
  const auto well = question.judge(answer, "/log");
  require(well || (well.error().code == Code::kUnavailable && !well.error().what.empty()));
  if (well) require(!answer.empty());
}

// A server's name becomes part of a line for the daemon's shell: it must be one word, a number.
void check_servers(const mps::Protocol& protocol, const std::string& answer) {
  for (const auto& order : protocol.change_servers(daemon(50), daemon(25), answer)) {
    require(order.input.find_first_of("\n;") == std::string::npos);
    require(std::ranges::count(order.input, ' ') == 2);
  }
}

void check_answer(const std::string& answer) {
  for (const mps::Protocol* protocol : mps::protocols()) {
    check_chunks(*protocol, answer);
    check_judge(protocol->alive(), answer);
    if (const auto start = protocol->start(daemon(50), "/f"); start.ready) {
      check_judge(*start.ready, answer);
    }
    check_servers(*protocol, answer);
  }
  const auto words = mps::words(answer);
  require(words.size() <= 300 && words.find('\n') == std::string::npos);
}

std::filesystem::path started() {
  static const test::TempDir dir;
  return dir.path() / ".started";
}

// The agent reads what a supervisor writes about its daemon.
void check_told(const std::vector<std::string>& gpus, const offer::MpsService& service) {
  const auto mark = mps::ReadyFile::put(started(), gpus, service);
  require(mark.has_value());
  require(mps::trouble_of(started()).empty());
  require(mps::service_of(started()) == service);
  require(mps::left_behind(started()).empty());
}

void check_partition(std::string_view answer) {
  const auto partition = mps::partition_of(answer, kUuid);
  if (!partition) return;
  require(partition->starts_with(fmt::format("{}/", kUuid)));
  require(partition->size() > kUuid.size() + 1);
  require(partition->find_first_of(" \t\r\n") == std::string::npos);
  offer::MpsService service;
  service.partitions[fmt::format("{}::0", kUuid)] = *partition;
  check_told({std::string(kUuid)}, service);
}

void check_mark(std::string_view text) {
  require(FsRoot().write_atomic(started(), text).has_value());
  const auto service = mps::service_of(started());
  const auto gpus = mps::left_behind(started());
  require(mps::protocol_of(service.protocol).number() == service.protocol);
  require(mps::protocol_of(service.protocol).has_namespaces() == service.namespaces);
  // NVIDIA's is empty, and believed; ours is not locked any more.
  require(mps::trouble_of(started()).empty() == text.empty());
  for (const auto& gpu : gpus) require(gpu.find_first_of(" \n") == std::string::npos);
  check_told(gpus, service);
}

void check_version(std::string_view output) {
  const auto capability = mps::read_version(output);
  require(capability.cuda_version == 0 || capability.cuda_version >= 1000);
  require(!mps::describe(capability).empty());
  const auto settled =
      mps::settle({.protocol = 3, .sm_partitions = config::EqualChunks{}}, capability);
  require(mps::speaks(capability, mps::protocol_of(settled.rules.protocol)));
}

// It becomes an option of mount(2): digits and one letter.
void check_shm(std::string_view meminfo) {
  const auto size = mps::shm_size(meminfo);
  const auto digits = size.find_first_not_of("0123456789");
  require(digits > 0 && digits == size.size() - 1);
  require(std::string_view("kKmMgG").find(size.back()) != std::string_view::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      check_answer(std::string(text));
      break;
    case 1:
      check_partition(text);
      break;
    case 2:
      check_mark(text);
      break;
    case 3:
      check_version(text);
      break;
    default:
      check_shm(text);
  }
  return 0;
}
