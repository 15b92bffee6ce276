#pragma once
// nvidia-cuda-mps-control -d: starts servers, connects clients to servers, executes commands.
//
// One thread, one loop. At most one server lives at a time, for one user (protocol 2): clients of
// another user wait until all clients of the first are gone, as described in NVIDIA's manual page.
// With --multiuser one server serves everyone; with protocol 3 every user and every named server
// has its own.

#include <sys/types.h>

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "sim/mps/log.h"
#include "sim/mps/partitions.h"
#include "sim/mps/server.h"
#include "sim/mps/settings.h"

namespace tranche::sim::mps {

class Daemon {
 public:
  // The holder of `lock` owns the content of the pipe folder.
  Daemon(DaemonOptions options, std::shared_ptr<Simulation> sim, OwnedFd lock, Log log);
  // Creates its files; clients and commands are accepted once it returns.
  Result<void> open();
  // Until `quit` or SIGTERM.
  void run();

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct Listener {
    OwnedFd socket;
    std::string server;  // empty: the user's own
    std::string space;   // a namespace other than `default`, whose limits the server itself has
    MpsLimits limits;    // of the namespace
    std::optional<std::uint64_t> memory;
  };
  struct Peer {  // a connection whose request is incomplete or unanswered
    OwnedFd connection;
    pid_t pid = 0;
    uid_t uid = 0;
    std::string server;
    std::string space;
    MpsLimits limits;
    std::string partition;    // CUDA_MPS_SM_PARTITION
    bool is_user = false;     // sends commands
    bool is_client = false;   // waits for a server
    std::string slot;         // a client's words
    bool wants_quit = false;  // answered when all servers are gone
    pid_t wants_server = 0;   // answered when that server is ready
  };
  struct ServerRecord {
    pid_t pid = 0;
    OwnedFd socket;
    uid_t uid = 0;
    std::string name;  // empty: started for a user
    unsigned clients = 0;
    bool is_ready = false;
    bool drains = false;
  };

  Result<void> listen(const std::string& folder, Listener listener);
  void turn();
  void accept_peer(const Listener& listener);
  bool receive_from_peer(Peer& peer);
  void receive_from_server(ServerRecord& server);
  void take_message(ServerRecord& server, const std::string& text);
  void bury(ServerRecord& server);
  void place_clients();
  void place(Peer& client);
  void hand_over(Peer& client, ServerRecord& server);
  void turn_away(Peer& client, std::uint32_t error);
  ServerRecord* start_server(uid_t uid, const NamedServer* config);
  void drain(ServerRecord& server);
  void force(ServerRecord& server);
  ServerRecord* server_for(const Peer& client);
  const NamedServer* config_for(const Peer& client) const;
  ServerRecord* find_server(const std::string& pid);
  MpsLimits on_every_device(MpsLimits limits, std::optional<std::uint64_t> memory) const;

  // daemon_commands.cpp. nullopt: answered later.
  std::optional<Answer> obey(Peer& user, const std::vector<std::string>& words);
  Answer ask(ServerRecord& server, const std::string& command);
  Answer ask_all(const std::string& command, const std::vector<std::string>& words,
                 std::string header);
  Answer about_server(const std::vector<std::string>& words);
  std::optional<Answer> start_for_user(Peer& user, const std::vector<std::string>& words);
  Answer shut_down(const std::vector<std::string>& words);
  Answer set_default(const std::vector<std::string>& words);
  Answer get_default(const std::vector<std::string>& words) const;
  Answer query_devices();
  std::optional<Answer> quit(Peer& user, const std::vector<std::string>& words);

  // daemon_protocol3.cpp. nullopt: not a command of protocol 3.
  std::optional<Answer> obey_protocol_3(const std::vector<std::string>& words);
  Answer about_named_server(const std::vector<std::string>& words);
  Answer set_server(NamedServer& server, const std::vector<std::string>& words);
  Answer about_namespace(const std::vector<std::string>& words);
  Answer about_partition(const std::vector<std::string>& words);
  Answer list_devices();
  Answer shell_partition(const std::vector<std::string>& words);
  Answer list_partitions();
  NamedServer* named(const std::string& name);
  std::string status_of(const NamedServer& server) const;  // empty: it is gone
  std::string partitions_of(const Peer& client) const;

  DaemonOptions options_;
  std::shared_ptr<Simulation> sim_;
  OwnedFd lock_;
  Log log_;
  std::string folder_;
  std::vector<UseTarget> devices_;
  MpsLimits defaults_;
  Partitions partitions_;
  std::list<Listener> listeners_;
  std::list<Peer> peers_;
  std::list<ServerRecord> servers_;
  bool quits_ = false;
  std::optional<Time> deadline_;  // when servers are forced to end
};

}  // namespace tranche::sim::mps
