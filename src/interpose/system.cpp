#include "interpose/system.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

namespace tranche::interpose {
namespace {

// A loaded object's tables, as its dynamic section says where they are.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Half) * versions = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
};

// glibc writes addresses into the section, some entries of others (the vDSO) stay offsets.
template <class Pointer>
Pointer at(ElfW(Addr) base, ElfW(Addr) value) {
  return reinterpret_cast<Pointer>(value < base ? base + value : value);
}

Tables tables_of(const dl_phdr_info& object) {
  Tables tables;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const ElfW(Addr) base = object.dlpi_addr;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(base + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const ElfW(Addr) value = entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) tables.symbols = at<const ElfW(Sym)*>(base, value);
      if (entry->d_tag == DT_STRTAB) tables.names = at<const char*>(base, value);
      if (entry->d_tag == DT_VERSYM) tables.versions = at<const ElfW(Half)*>(base, value);
      if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = at<const std::uint32_t*>(base, value);
      if (entry->d_tag == DT_HASH) tables.hash = at<const std::uint32_t*>(base, value);
    }
  }
  return tables;
}

// Defined there, a function, and the version that new programs bind to.
bool is_it(const Tables& tables, std::uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  const bool hidden = tables.versions != nullptr && (tables.versions[index] & 0x8000U) != 0;
  return symbol.st_shndx != SHN_UNDEF && !hidden &&
         strcmp(tables.names + symbol.st_name, name) == 0;
}

std::uint32_t find_gnu(const Tables& tables, const char* name) {
  std::uint32_t hash = 5381;
  for (const char* c = name; *c != 0; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  const std::uint32_t buckets = tables.gnu_hash[0];
  const std::uint32_t first = tables.gnu_hash[1];
  const std::uint32_t words = tables.gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* bucket = tables.gnu_hash + 4 + words;
  const std::uint32_t* chain = bucket + buckets;
  for (std::uint32_t i = bucket[hash % buckets]; i >= first; ++i) {
    if ((chain[i - first] | 1U) == (hash | 1U) && is_it(tables, i, name)) return i;
    if ((chain[i - first] & 1U) != 0) break;
  }
  return 0;
}

std::uint32_t find(const Tables& tables, const char* name) {
  if (tables.symbols == nullptr || tables.names == nullptr) return 0;
  if (tables.gnu_hash != nullptr) return find_gnu(tables, name);
  if (tables.hash == nullptr) return 0;
  for (std::uint32_t i = 1; i < tables.hash[1]; ++i) {
    if (is_it(tables, i, name)) return i;
  }
  return 0;
}

struct Search {
  const char* library;
  const char* symbol;
  void* found = nullptr;
};

int look(dl_phdr_info* object, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* file = slash != nullptr ? slash + 1 : object->dlpi_name;
  if (strncmp(file, search.library, strlen(search.library)) != 0) return 0;
  const Tables tables = tables_of(*object);
  const std::uint32_t index = find(tables, search.symbol);
  if (index == 0) return 0;
  search.found = reinterpret_cast<void*>(object->dlpi_addr + tables.symbols[index].st_value);
  return 1;
}

struct Lookup {
  const void* inside;
  const char* const* symbols;
  unsigned count;
  void** found;
};

bool holds(const dl_phdr_info& object, const void* address) {
  const auto at = reinterpret_cast<ElfW(Addr)>(address) - object.dlpi_addr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && at >= part.p_vaddr && at - part.p_vaddr < part.p_memsz)
      return true;
  }
  return false;
}

int look_up(dl_phdr_info* object, size_t, void* argument) {
  const auto& lookup = *static_cast<const Lookup*>(argument);
  if (!holds(*object, lookup.inside)) return 0;
  const Tables tables = tables_of(*object);
  for (unsigned i = 0; i < lookup.count; ++i) {
    const std::uint32_t index = find(tables, lookup.symbols[i]);
    if (index == 0 || tables.symbols == nullptr) continue;
    lookup.found[i] = reinterpret_cast<void*>(object->dlpi_addr + tables.symbols[index].st_value);
  }
  return 1;
}

}  // namespace

void exported_by(const void* inside, const char* const* symbols, unsigned count, void** found) {
  Lookup lookup{inside, symbols, count, found};
  dl_iterate_phdr(look_up, &lookup);
}

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void nap_ns(std::uint64_t ns) {
  const timespec nap{static_cast<time_t>(ns / 1'000'000'000),
                     static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&nap, nullptr);
}

void say(const char* text, unsigned* once) {
  if (once != nullptr && __atomic_exchange_n(once, 1, __ATOMIC_RELAXED) != 0) return;
  char line[256] = "tranche: ";
  size_t length = strlen(line);
  for (; *text != 0 && length < sizeof(line) - 1; ++text) line[length++] = *text;
  line[length++] = '\n';
  (void)!write(STDERR_FILENO, line, length);
}

void* exported(const char* library, const char* symbol) {
  Search search{library, symbol};
  dl_iterate_phdr(look, &search);
  return search.found;
}

void* of_libc(const char* symbol) {
  for (const char* part :
       {"libc.so.6", "libc-2.", "libdl.so.2", "libdl-2.", "libpthread.so.0", "libpthread-2."}) {
    if (void* found = exported(part, symbol)) return found;
  }
  return nullptr;
}

}  // namespace tranche::interpose
