#pragma once
// Holds containers that are about to start until they are limited. The container runtime's hook
// reports them (hook/, limit/start_message.h). If the kernel should limit a tenant's memory, the
// hook is answered when the container is limited, or after kPatience with the reason why it is not.
// An image's own /etc/ld.so.preload becomes a finding.
//
// Only root may ask, so a caller can delay no container but its own. Its messages are still
// checked, because they may be malformed. The loop never waits here: /proc is read on a separate
// thread. Used by the arbiter's one thread.

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
#include "process/task_thread.h"
#include "tenant/process.h"
#include "tenant/socket.h"

namespace tranche::arbiter {

class StartGate final : public Extension {
 public:
  // Shorter than the hook's own timeout, so that the hook still gets the reason.
  static constexpr std::chrono::seconds kPatience{8};
  // A finding is reported this long after the start, because kubelet names the container only soon
  // after its start.
  static constexpr std::chrono::seconds kUnreported{3};
  // A finding stays at least this long, so that one about a container that ends at once is reported
  // too.
  static constexpr std::chrono::seconds kStays{60};
  static constexpr std::size_t kMostAskers = 256;
  static constexpr std::size_t kMostSights = 1024;

  // Creates its socket in the tenants' folder, and takes over the previous arbiter's findings whose
  // processes still run.
  static Result<std::unique_ptr<StartGate>> open(const ExtensionContext& context);
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;
  ~StartGate() override;

  void on_settled() override { look(); }
  // Answers the hooks that can be answered, and forgets findings that are over.
  void look() override;
  void describe(limit::ArbiterStatus& status) const override;

 private:
  struct Asker {
    Descriptor fd;
    std::chrono::steady_clock::time_point since{};
    std::optional<limit::StartNotice> notice{};  // nullopt: not received yet
    std::optional<tenant::Process> process{};
    bool noted = false;  // the image's preload, if any, is a finding by now
  };
  using Key = std::pair<pid_t, std::uint64_t>;
  struct Sight {
    limit::Finding finding;
    std::chrono::steady_clock::time_point seen{};
    std::unique_ptr<tenant::Process> process{};  // null: it had already ended
    bool told = false;                           // it has been logged
  };

  StartGate(std::unique_ptr<process::TaskThread> thread, tenant::Listener listener,
            const ExtensionContext& context);
  void remember(const limit::ArbiterStatus& before);
  void accept_all();
  void receive(int fd);
  void take(int fd, Asker& asker, std::string_view packet);
  void note_preload(int fd, const Asker& asker);
  void noted(int fd, const tenant::ProcessId& id, const limit::StartNotice& notice,
             const std::optional<std::string>& cgroup);
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
  std::unique_ptr<process::TaskThread> thread_;  // last: its thread ends first
};

}  // namespace tranche::arbiter
