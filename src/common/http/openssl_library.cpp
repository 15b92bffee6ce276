#include "http/openssl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

// No header of OpenSSL here: the names are defined below, without their types.

// Where a function is, for its jump.
#define TRANCHE_OPENSSL(name) \
  extern "C" __attribute__((visibility("hidden"))) void* tranche_openssl_##name;
#include "http/openssl_functions.def"
#undef TRANCHE_OPENSSL

#define TRANCHE_OPENSSL(name) void* tranche_openssl_##name = nullptr;
#include "http/openssl_functions.def"
#undef TRANCHE_OPENSSL

// The jump keeps every register that has an argument.
#if defined(__x86_64__)
#define TRANCHE_JUMP(name) "endbr64\n\tjmp *tranche_openssl_" name "(%rip)\n"
#elif defined(__aarch64__)
#define TRANCHE_JUMP(name)                                                                        \
  "hint #34\n\tadrp x16, tranche_openssl_" name "\n\tldr x16, [x16, #:lo12:tranche_openssl_" name \
  "]\n\tbr x16\n"
#else
#error "OpenSSL is called on amd64 and arm64 alone: add the jump of this machine"
#endif

#define TRANCHE_OPENSSL(name)                                                                     \
  asm(".pushsection .text\n\t.balign 16\n\t.globl " #name "\n\t.hidden " #name "\n\t.type " #name \
      ", %function\n" #name ":\n\t" TRANCHE_JUMP(#name) "\t.size " #name ", .-" #name             \
                                                        "\n\t"                                    \
                                                        ".popsection");
#include "http/openssl_functions.def"
#undef TRANCHE_OPENSSL

namespace tranche::http {
namespace {

constexpr const char* kName = "libssl.so.3";

struct Function {
  const char* name;
  void** place;
};

constexpr auto kFunctions = std::to_array<Function>({
#define TRANCHE_OPENSSL(name) {#name, &tranche_openssl_##name},
#include "http/openssl_functions.def"
#undef TRANCHE_OPENSSL
});

// Its functions, and those of libcrypto, which it brings.
Result<void*> load() {
  const auto missing = [](const std::string& why) {
    return fail(Code::kUnsupported, fmt::format("HTTPS cannot be served: {}", why),
                "install OpenSSL 3 (Debian's package libssl3)");
  };
  void* const library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return missing(::dlerror());
  for (const auto& [name, place] : kFunctions) {
    *place = ::dlsym(library, name);
    if (*place == nullptr) return missing(fmt::format("{} lacks {}", kName, name));
  }
  return library;
}

const Result<void*>& loaded() {
  static const Result<void*> library = load();
  return library;
}

}  // namespace

Result<void> load_openssl() {
  if (const auto& library = loaded(); !library) return std::unexpected(library.error());
  return {};
}

void* openssl_function(const char* name) {
  const auto& library = loaded();
  return library ? ::dlsym(*library, name) : nullptr;
}

}  // namespace tranche::http
