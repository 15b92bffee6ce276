#include "sim/mps/log.h"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "fmt/format.h"

namespace tranche::sim::mps {

std::string log_folder() {
  const char* const named = std::getenv("CUDA_MPS_LOG_DIRECTORY");
  std::error_code error;
  const std::string text = named == nullptr || *named == '\0' ? "/var/log/nvidia-mps" : named;
  const auto folder = std::filesystem::absolute(text, error);
  return error ? text : folder.lexically_normal().string();
}

void Log::line(std::string_view who, std::string_view text) const {
  timeval now = {};
  ::gettimeofday(&now, nullptr);
  tm parts = {};
  ::localtime_r(&now.tv_sec, &parts);
  std::array<char, 32> date = {};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &parts);
  const std::string whole = fmt::format("[{}.{:03} {} {:5}] {}\n", date.data(), now.tv_usec / 1000,
                                        who, ::getpid(), text);
  // One write: lines of several processes do not mix. A full disk loses lines, nothing else.
  if (file_.is_open()) std::ignore = ::write(file_.get(), whole.data(), whole.size());
  if (echo_) std::ignore = ::write(STDOUT_FILENO, whole.data(), whole.size());
}

}  // namespace tranche::sim::mps
