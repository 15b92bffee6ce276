#pragma once
// Containers that are about to start, as the container runtime's hook tells of them (hook/,
// limit/start_message.h): where the kernel is to keep a tenant's memory the hook is answered when
// the container is limited, or after kPatience with the reason why it is not; an image's own
// /etc/ld.so.preload becomes a finding.
//
// Who asks is root, and waits for nobody but its own container; what it sends is not trusted to be
// well made. Nothing is waited for here: /proc is read on a thread of its own. Used by the
// arbiter's one thread.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arbiter/extension.h"
#include "arbiter/tenant_session.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/fs.h"
#include "base/log.h"
#include "limit/arbiter_status.h"
#include "limit/start_message.h"
#include "process/poller.h"
#include "process/worker.h"
#include "tenant/process.h"
#include "tenant/socket.h"

namespace tranche::arbiter {

class StartGate final : public Extension {
 public:
  // Less than the hook waits, so that it hears the reason.
  static constexpr std::chrono::seconds kPatience{8};
  // Kubelet tells which container it is soon after its start, not before.
  static constexpr std::chrono::seconds kUntold{3};
  // A container that ends at once is told of all the same.
  static constexpr std::chrono::seconds kStays{60};
  static constexpr std::size_t kMostAskers = 256;
  static constexpr std::size_t kMostSights = 1024;

  // Makes its socket in the tenants' folder, and remembers what an earlier arbiter found, as far as
  // it still runs.
  static Result<std::unique_ptr<StartGate>> open(const ExtensionContext& context);
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;
  ~StartGate() override;

  void settled() override { look(); }
  // Answers who can be answered, forgets what is over.
  void look() override;
  void describe(limit::ArbiterStatus& status) const override;

 private:
  struct Asker {
    Descriptor fd;
    std::chrono::steady_clock::time_point since{};
    std::optional<limit::StartNotice> notice{};  // nullopt: not sent yet
    std::optional<tenant::Process> process{};
    bool noted = false;  // what its image preloads
  };
  using Key = std::pair<pid_t, std::uint64_t>;
  struct Sight {
    limit::Finding finding;
    std::chrono::steady_clock::time_point seen{};
    std::unique_ptr<tenant::Process> process{};  // null: it has ended
    bool told = false;                           // logged
  };

  StartGate(std::unique_ptr<process::Worker> worker, tenant::Listener listener,
            const ExtensionContext& context);
  void remember(const limit::ArbiterStatus& before);
  void accept_all();
  void receive(int fd);
  void take(int fd, Asker& asker, std::string_view packet);
  void note_preload(int fd, const Asker& asker);
  void noted(int fd, const tenant::ProcessId& id, const limit::StartNotice& notice,
             const std::string& cgroup);
  void advance(int fd);
  std::string obstacle(const Asker& asker);
  void answer(int fd, const limit::StartAnswer& answer);
  void drop(int fd);

  std::filesystem::path tenants_;
  FsRoot host_;
  tenant::Listener listener_;
  process::Poller& poller_;
  const Clock& clock_;
  const Log& log_;
  Extensions& extensions_;
  std::function<Sessions()> sessions_;
  std::map<int, Asker> askers_;  // by descriptor
  std::map<Key, Sight> sights_;
  std::unique_ptr<process::Worker> worker_;  // last: its thread ends first
};

}  // namespace tranche::arbiter
