#pragma once
// One device plugin as kubelet sees it: the connection to its socket and the calls made on it.
//
// Thread-safe. close() may come at any time from any thread and ends every call in flight; kubelet
// itself sets no deadline on them. The destructor closes and joins the watching thread, so it must
// not run on that thread: the watch callbacks know their endpoint by address and never own it.
// Errors carry the text Go's gRPC would show ("rpc error: code = Unknown desc = ...").

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "lab/kubelet/choose.h"
#include "lab/kubelet/types.h"

namespace tranche::lab {

class Endpoint {
 public:
  using OnDevices = std::function<void(std::vector<Device>)>;
  using OnEnd = std::function<void(const Error&)>;

  explicit Endpoint(std::filesystem::path socket);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Dials, waiting for someone to answer, then asks for the plugin's options.
  Result<PluginOptions> connect(std::chrono::milliseconds dial_timeout);
  // Opens ListAndWatch on a thread of its own. `on_end` is called exactly once, also after close().
  void watch(OnDevices on_devices, OnEnd on_end);

  // One container's request; its single answer.
  Result<Answer> allocate(const Ids& ids);
  // `count` devices in all, `must_include` among them. An empty list is an answer.
  Result<Ids> preferred(const Ids& available, const Ids& must_include, int count);
  Result<void> pre_start(const Ids& ids);

  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tranche::lab
