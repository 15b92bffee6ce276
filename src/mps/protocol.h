#pragma once
// How one speaks with an MPS control daemon. NVIDIA has several protocols, each with words of its
// own for the same: start, ask, change, end. A Protocol knows one of them: it says what to ask of
// NVIDIA's program, and what its answers mean. MpsDaemon (agent/mps) carries it out, and does not
// know which one it is.
//
// Each stands in a folder of its own, and in one line of mps/protocols.def. All are pure, without
// state, and live as long as the process.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mps/daemon.h"
#include "mps/order.h"

namespace tranche::mps {

// The first of NVIDIA's programs that speaks a protocol.
struct Since {
  int cuda_version = 0;       // 13040: CUDA 13.4; 0: all do
  std::string_view driver{};  // "r615"
};

struct Question {
  Order order;
  // Of the answer: whether all is well. `log`: the daemon's folder of logs, for the hint.
  Result<void> (*judge)(const std::string& answer, const std::filesystem::path& log);
};

// A daemon with its limits, before anybody can be its client.
struct Start {
  std::string configuration;  // to be written to the file first; empty: there is none
  std::vector<Order> orders;
  std::optional<Question> ready;  // asked again until all is well; nullopt: it is at once
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual int number() const = 0;
  virtual Since since() const = 0;
  // Whether limits are those of namespaces (Daemon::namespaces).
  virtual bool has_namespaces() const = 0;

  // `file`: where the configuration will stand.
  virtual Start start(const Daemon& daemon, const std::filesystem::path& file) const = 0;
  virtual Order quit() const = 0;
  // Whether the daemon lives, and serves.
  virtual Question alive() const = 0;

  // Between daemons that differ in limits alone (mps/diff.h): what one that runs is told for
  // clients that begin from then on.
  virtual std::vector<Order> change(const Daemon& before, const Daemon& daemon) const = 0;
  // Whose answer names the servers that are told too; nullopt: none need be.
  virtual std::optional<Order> servers_question() const = 0;
  virtual std::vector<Order> change_servers(const Daemon& before, const Daemon& daemon,
                                            const std::string& servers) const = 0;

  // Static SM partitions (mps/partitions.h): what a daemon's GPUs have; of the answer how many
  // chunks `uuid` has in all, nullopt: it does not say so; and what makes that of one tranche.
  virtual Order chunks_question() const = 0;
  virtual std::optional<int> chunks_of(const std::string& answer, std::string_view uuid) const = 0;
  virtual Order add_partition(const DaemonDevice& device, int replica, int chunks) const = 0;
};

// Each stands in the folder of its name.
#define PROTOCOL(name) const Protocol& name();
#include "mps/protocols.def"
#undef PROTOCOL

// In the order of the list.
std::span<const Protocol* const> protocols();
// The one of that number; the first of the list where it has none such.
const Protocol& protocol_of(int number);

}  // namespace tranche::mps
