#pragma once
// Takes the arbiter's incidents, names the containers in them, keeps them in <state dir>/incidents,
// where they outlive a reboot, and records Events (agent/incidents/incident_events.h). Asks the
// arbiter for the last minute before an XID; without an arbiter an incident says only who held the
// GPU.
//
// One thread calls look() at intervals; any thread may call heard().

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/hardware/last_xids.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "cluster/client/standing_events.h"
#include "cluster/objects.h"
#include "gpu/machine.h"
#include "holdings/holdings.h"
#include "incidents/asks.h"
#include "incidents/incident_files.h"

namespace tranche::agent {

class IncidentReporter {
 public:
  // How long an Event stands; an incident in this time is one more of the same.
  static constexpr std::chrono::minutes kStands{10};
  // How long names, or the arbiter's answer, are waited for.
  static constexpr std::chrono::seconds kPatience{10};
  // The least time between two incidents of XIDs of a GPU: one error often brings others.
  static constexpr std::chrono::seconds kEachXid{30};

  struct Ports {
    std::filesystem::path state_dir;    // the agent's
    std::filesystem::path arbiter_dir;  // the arbiter's; empty: none runs here
    // What is held now, with the uids of Pods. Asks kubelet, so it may take a while.
    std::function<holdings::Holdings()> held;
    cluster::Objects* objects = nullptr;  // null: without a cluster no Event is recorded
    std::string node;
    const Clock& clock;
    const Log& log;
  };
  explicit IncidentReporter(Ports ports);

  // XIDs that the driver has reported; `machine` has their GPUs.
  void heard(std::vector<LastXids::Xid> xids, const gpu::Machine& machine);
  // Brings files and Events up to date.
  void look(const cluster::Call& call);

 private:
  using WallTime = std::chrono::system_clock::time_point;

  void load();
  void take_xids();
  void ask();
  void take_arbiters(std::optional<holdings::Holdings>& held);
  void give_up_waiting(std::optional<holdings::Holdings>& held);
  bool is_young(const incidents::Incident& incident) const;
  const holdings::Holdings& held(std::optional<holdings::Holdings>& held) const;
  std::set<std::string> devices_of(const incidents::Incident& incident) const;
  void keep(incidents::Incident incident);
  bool store(incidents::Incident& incident);
  void store_again();
  void forget_gone(const std::vector<std::string>& arbiters);
  void complain(const std::string& what);

  Ports ports_;
  FsRoot fs_;
  std::mutex mutex_;
  std::vector<incidents::Ask> heard_;  // guarded by mutex_; their ids are empty
  // Only on look()'s thread, from here.
  incidents::IncidentFiles own_;
  incidents::IncidentFiles arbiters_;
  bool is_loaded_ = false;
  std::set<std::string> taken_;  // ids of the arbiter's files, and of answered_, that are kept
  std::map<std::string, incidents::Ask> asked_;     // by id; without an answer yet
  std::map<std::string, incidents::Ask> answered_;  // by id
  std::map<std::string, WallTime> last_xid_;        // by GPU
  std::vector<incidents::Incident> standing_;
  std::vector<incidents::Incident> unstored_;        // the disk was full; at most kMost
  std::string written_;                              // the asks, as they stand in their file
  std::unique_ptr<cluster::StandingEvents> events_;  // null: without a cluster
  std::string complaint_;                            // logged last
};

}  // namespace tranche::agent
