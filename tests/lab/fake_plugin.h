#pragma once
// A device plugin for tests of the kubelet stand-in: does what the test sets, and records requests.
// Serves from construction until destruction; thread-safe.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/kubelet/types.h"

namespace tranche::test {

class FakePlugin {
 public:
  struct Options {
    std::string resource = "example.com/gpu";
    std::string endpoint = "example-gpu.sock";
    std::vector<lab::Device> devices;
    bool pre_start_required = false;
    // The answer of GetPreferredAllocation; without one, it is not offered.
    std::optional<lab::Ids> preferred = {};
    // Allocate fails with it.
    std::string allocate_error = {};
    std::string pre_start_error = {};
  };
  struct Calls {
    std::vector<lab::Ids> allocate;
    std::vector<lab::Ids> preferred_available;
    std::vector<lab::Ids> preferred_must_include;
    std::vector<lab::Ids> pre_start;
  };

  // Serves on `folder`/endpoint, replacing a socket that is there.
  FakePlugin(std::filesystem::path folder, Options options);
  ~FakePlugin();
  FakePlugin(const FakePlugin&) = delete;
  FakePlugin& operator=(const FakePlugin&) = delete;

  // Calls Register on kubelet.sock of the folder; what() is the status message alone.
  Result<void> register_with_kubelet(const std::string& version = "v1beta1",
                                     int deadline_ms = 10'000);
  // Sends a new list on every open stream.
  void set_devices(std::vector<lab::Device> devices);
  // Allocate hangs until the caller gives up.
  void hang_allocate();
  // Until an Allocate hangs; false when none does within 10 s.
  bool wait_until_hanging();

  Calls calls() const;
  std::filesystem::path socket() const;
  // The authority of the last stream's caller.
  std::string authority() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What Allocate answers for these ids.
lab::Answer expected_answer(const lab::Ids& ids);

}  // namespace tranche::test
