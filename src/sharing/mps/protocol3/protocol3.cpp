#include <fmt/format.h>

#include <sstream>

#include "mps/protocol.h"
#include "mps/protocol3/orders.h"

namespace tranche::mps {
namespace {

constexpr Since kRelease615{.cuda_version = 13040, .driver = "r615"};

std::string hint_of(const std::filesystem::path& log) {
  return fmt::format("see {}", log.string());
}

Result<void> judge_server(const std::string& answer, const std::filesystem::path& log) {
  if (!status_of(answer).empty()) return {};
  return fail(Code::kUnavailable, "the server of the MPS control daemon has ended", hint_of(log));
}

Result<void> judge_ready(const std::string& answer, const std::filesystem::path& log) {
  const auto status = status_of(answer);
  if (status == kReady) return {};
  return fail(Code::kUnavailable,
              fmt::format("the server of the MPS control daemon is not ready: {}",
                          status.empty() ? "it has ended" : words(status)),
              hint_of(log));
}

// Limits, and those of namespaces, are in a file before the start.
class Protocol3 final : public Protocol {
 public:
  int number() const override { return 3; }
  Since since() const override { return kRelease615; }
  bool has_namespaces() const override { return true; }

  Start start(const Daemon& daemon, const std::filesystem::path& file) const override {
    return {.configuration = configuration(daemon),
            .orders = {start_order(file.string())},
            .ready = Question{.order = server_list_order(), .judge = judge_ready}};
  }
  Order quit() const override { return {.arguments = {"-q"}, .input = {}}; }
  Question alive() const override { return {.order = server_list_order(), .judge = judge_server}; }

  std::vector<Order> change(const Daemon& before, const Daemon& daemon) const override {
    return change_orders(before, daemon);
  }
  // The namespaces belong to the one server, so change() is enough.
  std::optional<Order> servers_question() const override { return std::nullopt; }
  std::vector<Order> change_servers(const Daemon& /*before*/, const Daemon& /*daemon*/,
                                    const std::string& /*servers*/) const override {
    return {};
  }

  Order chunks_question() const override { return device_list_order(); }
  std::optional<int> chunks_of(const std::string& answer, std::string_view uuid) const override {
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);) {
      if (const auto chunks = listed_chunks(line, uuid)) return chunks;
    }
    return std::nullopt;
  }
  Order add_partition(const DaemonDevice& device, int replica, int chunks) const override {
    return create_partition_order(device.uuid, replica, chunks);
  }
};

}  // namespace

const Protocol& protocol3() {
  static const Protocol3 one;
  return one;
}

}  // namespace tranche::mps
