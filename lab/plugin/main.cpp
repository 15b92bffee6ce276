// tranche-lab-plugin: a device plugin that is not ours, for tests of two plugins on one node. It
// does what NVIDIA's does with its socket: it removes the file that is there, serves in its place,
// registers once, never looks at its socket again, and removes the file when it ends. It advertises
// the ids it is given, all healthy, and grants any of them with nothing in the answer.
//
// It prints a line when it is registered and when kubelet reads its list, sends its list again for
// each line on stdin, and ends with its input.

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/proto/deviceplugin.grpc.pb.h"
#include "lab/kubelet/unix_server.h"

namespace {

constexpr int kUsage = 2;

struct Options {
  std::filesystem::path folder = "/var/lib/kubelet/device-plugins";
  std::string endpoint = "nvidia-gpu.sock";
  std::string resource = "nvidia.com/gpu";
  std::vector<std::string> ids;
};

class Plugin final : public v1beta1::DevicePlugin::Service {
 public:
  explicit Plugin(const std::vector<std::string>& ids) {
    for (const auto& id : ids) {
      auto& device = *list_.add_devices();
      device.set_id(id);
      device.set_health("Healthy");
    }
  }

  void send_again() {
    change([this] { ++wanted_; });
  }
  void stop() {
    change([this] { stopped_ = true; });
  }

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions*) override {
    return grpc::Status::OK;
  }

  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) override {
    constexpr std::chrono::milliseconds kLookAgain{100};  // cancellation comes without a signal
    int sent = 0;
    std::unique_lock lock(mutex_);
    std::cout << "read by kubelet\n" << std::flush;
    while (!stopped_ && !context->IsCancelled()) {
      if (sent != wanted_) {
        sent = wanted_;
        if (!stream->Write(list_)) break;
      }
      changed_.wait_for(lock, kLookAgain, [&] { return stopped_ || sent != wanted_; });
    }
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* answer) override {
    for (int i = 0; i < request->container_requests_size(); ++i) answer->add_container_responses();
    return grpc::Status::OK;
  }

 private:
  template <class Change>
  void change(Change&& change) {
    {
      const std::scoped_lock lock(mutex_);
      change();
    }
    changed_.notify_all();
  }

  v1beta1::ListAndWatchResponse list_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int wanted_ = 1;
  bool stopped_ = false;
};

grpc::Status register_it(const Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  const auto channel =
      grpc::CreateCustomChannel("unix:" + (options.folder / "kubelet.sock").string(),
                                grpc::InsecureChannelCredentials(), arguments);
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(options.endpoint);
  request.set_resource_name(options.resource);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  v1beta1::Empty answer;
  return v1beta1::Registration::NewStub(channel)->Register(&context, request, &answer);
}

bool apply(Options& options, std::string_view name, const std::string& value) {
  if (name == "--folder") {
    options.folder = value;
  } else if (name == "--endpoint") {
    options.endpoint = value;
  } else if (name == "--resource") {
    options.resource = value;
  } else if (name == "--id") {
    options.ids.push_back(value);
  } else {
    return false;
  }
  return true;
}

int serve(const Options& options) {
  const auto socket = options.folder / options.endpoint;
  // It listens first: between the removal and its own socket are microseconds, as in NVIDIA's.
  const auto early = options.folder / (options.endpoint + ".early");
  Plugin plugin(options.ids);
  auto server = tranche::lab::serve_unix(early, plugin);
  if (!server) {
    std::cerr << server.error().message() << '\n';
    return 1;
  }
  std::filesystem::remove(socket);
  std::filesystem::rename(early, socket);
  const auto registered = register_it(options);
  std::cout << (registered.ok() ? "registered" : registered.error_message()) << '\n' << std::flush;
  for (std::string line; std::getline(std::cin, line);) plugin.send_again();
  plugin.stop();
  tranche::lab::shut_down(**server);
  std::filesystem::remove(socket);  // anybody's by now
  return registered.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc || !apply(options, argv[i], argv[i + 1])) {
      std::cerr << "tranche-lab-plugin [--folder DIR] [--endpoint NAME] [--resource NAME] "
                   "[--id ID]...\n";
      return kUsage;
    }
  }
  return serve(options);
}
