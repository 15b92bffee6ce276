#include "interpose/elf_symbols.h"

#include <sys/auxv.h>

#include <cstddef>
#include <initializer_list>

#include "interpose/text.h"

namespace tranche::interpose {

using std::size_t;

namespace {

// glibc writes addresses into the section, some entries of others (the vDSO) stay offsets.
template <class Pointer>
Pointer at(ElfW(Addr) base, ElfW(Addr) value) {
  return reinterpret_cast<Pointer>(value < base ? base + value : value);
}

// Found through its dynamic section.
Object tables_of(ElfW(Addr) base, const ElfW(Dyn) * entry) {
  Object tables{.base = base};
  for (; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = at<const ElfW(Sym)*>(base, value);
    if (entry->d_tag == DT_STRTAB) tables.names = at<const char*>(base, value);
    if (entry->d_tag == DT_VERSYM) tables.versions = at<const ElfW(Half)*>(base, value);
    if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = at<const std::uint32_t*>(base, value);
    if (entry->d_tag == DT_HASH) tables.hash = at<const std::uint32_t*>(base, value);
  }
  return tables;
}

// A function defined there, in the version that new programs bind to.
bool is_it(const Object& tables, std::uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  const bool hidden = tables.versions != nullptr && (tables.versions[index] & 0x8000U) != 0;
  return symbol.st_shndx != SHN_UNDEF && !hidden && is_same(tables.names + symbol.st_name, name);
}

std::uint32_t find_gnu(const Object& tables, const char* name) {
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

std::uint32_t find(const Object& tables, const char* name) {
  if (tables.symbols == nullptr || tables.names == nullptr) return 0;
  if (tables.gnu_hash != nullptr) return find_gnu(tables, name);
  if (tables.hash == nullptr) return 0;
  for (std::uint32_t i = 1; i < tables.hash[1]; ++i) {
    if (is_it(tables, i, name)) return i;
  }
  return 0;
}

const ElfW(Dyn) * dynamic_of(ElfW(Addr) base, const ElfW(Phdr) * parts, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (parts[i].p_type == PT_DYNAMIC)
      return reinterpret_cast<const ElfW(Dyn)*>(base + parts[i].p_vaddr);
  }
  return nullptr;
}

// The program's list of loaded objects, found through its dynamic section (DT_DEBUG). nullptr: the
// program was linked without it.
const link_map* loaded_objects() {
  const auto* parts = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const auto count = static_cast<unsigned>(getauxval(AT_PHNUM));
  ElfW(Addr) base = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (parts[i].p_type == PT_PHDR) base = reinterpret_cast<ElfW(Addr)>(parts) - parts[i].p_vaddr;
  }
  const ElfW(Dyn)* entry = dynamic_of(base, parts, count);
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_DEBUG || entry->d_un.d_ptr == 0) continue;
    return reinterpret_cast<const r_debug*>(entry->d_un.d_ptr)->r_map;
  }
  return nullptr;
}

struct Search {
  const char* library;  // how its file's name begins
  const char* symbol;
  void* found;
};

int look(dl_phdr_info* object, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  if (!begins_with(file_name(object->dlpi_name), search.library)) return 0;
  const ElfW(Dyn)* dynamic = dynamic_of(object->dlpi_addr, object->dlpi_phdr, object->dlpi_phnum);
  if (dynamic != nullptr) search.found = symbol_of(object->dlpi_addr, dynamic, search.symbol);
  return search.found != nullptr ? 1 : 0;
}

// nullptr: the object has none.
const char* soname_of(const void* begin) {
  const auto base = reinterpret_cast<ElfW(Addr)>(begin);
  const auto* header = static_cast<const ElfW(Ehdr)*>(begin);
  const auto* parts = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
  const ElfW(Dyn)* dynamic = dynamic_of(base, parts, header->e_phnum);
  if (dynamic == nullptr) return nullptr;
  const char* names = tables_of(base, dynamic).names;
  for (; names != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_SONAME) return names + dynamic->d_un.d_val;
  }
  return nullptr;
}

bool holds(const dl_phdr_info& object, const void* address) {
  const auto at = reinterpret_cast<ElfW(Addr)>(address) - object.dlpi_addr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && at >= part.p_vaddr && at - part.p_vaddr < part.p_memsz)
      return true;
  }
  return false;
}

struct ObjectSearch {
  const void* inside;
  Object object{};
};

int note_object(dl_phdr_info* object, size_t, void* argument) {
  auto& search = *static_cast<ObjectSearch*>(argument);
  if (!holds(*object, search.inside)) return 0;
  const ElfW(Dyn)* dynamic = dynamic_of(object->dlpi_addr, object->dlpi_phdr, object->dlpi_phnum);
  if (dynamic != nullptr) search.object = tables_of(object->dlpi_addr, dynamic);
  return 1;
}

struct FileSearch {
  const void* inside;
  const char* file;
};

int note_file(dl_phdr_info* object, size_t, void* argument) {
  auto& search = *static_cast<FileSearch*>(argument);
  if (!holds(*object, search.inside)) return 0;
  search.file = object->dlpi_name;
  return 1;
}

}  // namespace

void* symbol_of(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* symbol) {
  return symbol_of(tables_of(base, dynamic), symbol);
}

void* symbol_of(const Object& object, const char* symbol) {
  const std::uint32_t index = find(object, symbol);
  return index == 0 ? nullptr
                    : reinterpret_cast<void*>(object.base + object.symbols[index].st_value);
}

void* of_libc(const char* symbol) {
  // The libraries of a program's start, including the C library, are at the list's beginning and
  // stay there. Of later ones only an older glibc's libdl and libpthread are ever looked for.
  const link_map* first = loaded_objects();
  for (const char* part :
       {"libc.so.6", "libc-2.", "libdl.so.2", "libdl-2.", "libpthread.so.0", "libpthread-2."}) {
    for (const link_map* object = first; object != nullptr; object = object->l_next) {
      if (object->l_name == nullptr || !begins_with(file_name(object->l_name), part)) continue;
      if (void* found = symbol_of(object->l_addr, object->l_ld, symbol)) return found;
    }
    Search search{part, symbol, nullptr};
    if (first == nullptr) dl_iterate_phdr(look, &search);
    if (search.found != nullptr) return search.found;
  }
  return nullptr;
}

const char* file_of(const void* inside) {
  FileSearch search{inside, nullptr};
  dl_iterate_phdr(note_file, &search);
  return search.file;
}

bool has_same_soname(const void* one, const void* other) {
  const char* name = soname_of(one);
  const char* other_name = soname_of(other);
  return name != nullptr && other_name != nullptr && is_same(name, other_name);
}

Object object_of(const void* inside) {
  ObjectSearch search{.inside = inside};
  dl_iterate_phdr(note_object, &search);
  return search.object;
}

}  // namespace tranche::interpose
