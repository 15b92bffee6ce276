// What it costs a process of ours to know a whole cluster. Asks the API server of a kubeconfig, and
// writes one JSON line of figures: bytes of memory from /proc/self/status (resident now, and the
// peak), time in milliseconds.
//
//     cluster_memory KUBECONFIG snapshot      take, write and read a snapshot/v1
//     cluster_memory KUBECONFIG watch         keep all nodes and Pods up to date
//
// tests/bench/many_nodes.py runs it.

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <semaphore>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/client/watch_cache.h"
#include "cluster/snapshot/encoding.h"
#include "cluster/snapshot/take.h"
#include "kube/connect.h"

namespace {

using namespace tranche;

constexpr std::chrono::minutes kPatience{2};

// A size from /proc/self/status, which is in KiB.
std::size_t memory(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (word != name + ":") continue;
    std::size_t kib = 0;
    file >> kib;
    return kib * 1024;
  }
  return 0;
}

std::string figures(const std::string& what, std::chrono::steady_clock::time_point since,
                    const std::string& more) {
  const auto took = std::chrono::steady_clock::now() - since;
  return fmt::format(R"("{}":{{"milliseconds":{},"resident":{},"peak":{}{}}})", what,
                     std::chrono::duration_cast<std::chrono::milliseconds>(took).count(),
                     memory("VmRSS"), memory("VmHWM"), more);
}

Result<std::string> cost_of_snapshot(cluster::Objects& objects) {
  auto begin = std::chrono::steady_clock::now();
  const auto snapshot =
      cluster::take(objects, {.now = SystemClock().wall_now(), .taken_by = "cluster_memory"},
                    {.deadline = kPatience});
  if (!snapshot) return std::unexpected(snapshot.error());
  for (const auto& gap : snapshot->gaps) {
    // A kind that the cluster lacks is no failure.
    if (gap.code != Code::kNotFound) return fail(gap.code, gap.resource + ": " + gap.message);
  }
  auto line = figures(
      "take", begin,
      fmt::format(R"(,"nodes":{},"pods":{})", snapshot->nodes.size(), snapshot->pods.size()));
  begin = std::chrono::steady_clock::now();
  const auto text = cluster::encode(*snapshot);
  line += ',' + figures("encode", begin, fmt::format(R"(,"bytes":{})", text.size()));
  begin = std::chrono::steady_clock::now();
  const auto again = cluster::decode(text);
  if (!again) return std::unexpected(again.error());
  if (*again != *snapshot) return fail(Code::kInternal, "what was read is not what was written");
  return line + ',' + figures("decode", begin, "");
}

Result<std::string> cost_of_watch(cluster::Objects& objects, const Log& log) {
  const auto begin = std::chrono::steady_clock::now();
  std::counting_semaphore<2> synced(0);
  const auto tell = [&](const cluster::CacheChange& change) {
    if (change.type == cluster::ChangeType::kSynced) synced.release();
  };
  const cluster::WatchCache nodes(objects, {.kind = cluster::kNode}, tell, log);
  const cluster::WatchCache pods(objects, {.kind = cluster::kPod}, tell, log);
  for (int i = 0; i < 2; ++i) {
    if (!synced.try_acquire_for(kPatience)) return fail(Code::kTimeout, "the lists do not come");
  }
  // Before all() makes copies.
  const auto line = figures("watch", begin, "");
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const auto* cache : {&nodes, &pods}) {
    for (const auto& object : cache->all()) bytes += object.json.size();
    count += cache->all().size();
  }
  return fmt::format(R"({},"held":{{"objects":{},"bytes":{}}})", line, count, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[2] : "";
  if (what != "snapshot" && what != "watch") {
    std::cerr << "usage: cluster_memory KUBECONFIG snapshot|watch\n";
    return 2;
  }
  const Log log;
  const auto objects = kube::connect({argv[1], ""}, {}, "tranche-bench", log);
  const auto line = !objects             ? std::unexpected(objects.error())
                    : what == "snapshot" ? cost_of_snapshot(**objects)
                                         : cost_of_watch(**objects, log);
  if (!line) {
    std::cerr << "cluster_memory: " << line.error().message() << '\n';
    return 1;
  }
  std::cout << '{' << *line << "}\n";
  return 0;
}
