#include "kube/curl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tranche::kube {
namespace {

constexpr const char* kName = "libcurl.so.4";

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<CurlLibrary> load() {
  void* const library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  const auto missing = [](std::string_view why) {
    return fail(Code::kUnsupported, fmt::format("the API server cannot be asked: {}", why),
                "install libcurl 7.85 or newer (Debian's package libcurl4)");
  };
  if (library == nullptr) return missing(::dlerror());
  CurlLibrary curl{};
  const bool complete = find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                        find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                        find(library, "curl_easy_init", curl.easy_init) &&
                        find(library, "curl_easy_reset", curl.easy_reset) &&
                        find(library, "curl_easy_setopt", curl.easy_setopt) &&
                        find(library, "curl_easy_strerror", curl.easy_strerror) &&
                        find(library, "curl_global_init", curl.global_init) &&
                        find(library, "curl_multi_add_handle", curl.multi_add_handle) &&
                        find(library, "curl_multi_cleanup", curl.multi_cleanup) &&
                        find(library, "curl_multi_info_read", curl.multi_info_read) &&
                        find(library, "curl_multi_init", curl.multi_init) &&
                        find(library, "curl_multi_perform", curl.multi_perform) &&
                        find(library, "curl_multi_poll", curl.multi_poll) &&
                        find(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
                        find(library, "curl_multi_wakeup", curl.multi_wakeup) &&
                        find(library, "curl_slist_append", curl.slist_append) &&
                        find(library, "curl_slist_free_all", curl.slist_free_all);
  if (!complete) return missing(fmt::format("{} lacks a function", kName));
  const CURLcode ready = curl.global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) return missing(curl.easy_strerror(ready));
  return curl;
}

const Result<CurlLibrary>& loaded() {
  static const Result<CurlLibrary> library = load();
  return library;
}

}  // namespace

Result<const CurlLibrary*> load_curl() {
  const auto& library = loaded();
  if (!library) return std::unexpected(library.error());
  return &*library;
}

const CurlLibrary& curl() { return *loaded(); }

}  // namespace tranche::kube
