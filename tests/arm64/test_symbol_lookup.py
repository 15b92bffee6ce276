"""libtranche-limit.so for arm64 in programs of that machine, on an emulated processor: its symbol lookups are
written in that machine's assembly."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "arm64" / "lib" / "libtranche-limit.so"
COMPILER = "aarch64-linux-gnu-gcc-12"
EMULATOR = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"]

# A driver of four functions: which ones the lookups may give out in its place.
DRIVER = """
#include <string.h>
static int memory;
int cuInit(unsigned flags) { return flags == 7 ? 1 : 0; }
int cuMemAlloc_v2(unsigned long long *address, unsigned long bytes) { *address = (unsigned long long)&memory; return 0; }
int cuDriverGetVersion(int *version) { *version = 13050; return 0; }
int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long flags, int *status) {
  *found = !strcmp(name, "cuMemAlloc") ? (void *)cuMemAlloc_v2
         : !strcmp(name, "cuDriverGetVersion") ? (void *)cuDriverGetVersion : 0;
  if (status) *status = *found ? 0 : 1;
  return *found ? 0 : 500;
}
"""

PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { printf("not so: %s\\n", #x); return 1; } } while (0)
static void *look(void *unused) { return dlsym(RTLD_NEXT, "malloc"); }
static const char *owner(void *function) {
  static Dl_info info;
  return dladdr(function, &info) ? info.dli_fname : "";
}
int main(void) {
  void *first = dlsym(RTLD_NEXT, "malloc"), *other = 0;
  pthread_t thread;
  CHECK(first != 0 && first == dlsym(RTLD_NEXT, "malloc"));
  CHECK(pthread_create(&thread, 0, look, 0) == 0 && pthread_join(thread, &other) == 0);
  CHECK(other == first);
  void *math = dlopen("libm.so.6", RTLD_NOW);
  double (*cosine)(double) = (double (*)(double))dlsym(math, "cos");
  CHECK(cosine != 0 && cosine(0) == 1 && dlvsym(math, "sin", "GLIBC_2.17") != 0);
  CHECK(dlsym(math, "cuNothing") == 0);

  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(driver != 0);
  void *allocate = dlsym(driver, "cuMemAlloc_v2");
  CHECK(strstr(owner(allocate), "libtranche-limit.so"));
  CHECK(strstr(owner(dlsym(driver, "cuDriverGetVersion")), "libcuda.so.1"));
  int (*initialise)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  CHECK(initialise(0) == 0 && initialise(7) == 1);
  int (*find)(const char *, void **, int, unsigned long, int *) =
      (int (*)(const char *, void **, int, unsigned long, int *))dlsym(driver, "cuGetProcAddress_v2");
  int status = 9;
  CHECK(find("cuMemAlloc", &other, 13050, 0, &status) == 0 && status == 0 && other == allocate);
  CHECK(find("cuNothing", &other, 13050, 0, &status) == 500 && status == 1 && other == 0);
  void *space = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
  CHECK(space != 0 && space != math);
  unsigned long long address = 0;
  CHECK(((int (*)(unsigned long long *, unsigned long))allocate)(&address, 64) == 0 && address != 0);
  puts("as on amd64");
  return 0;
}
"""


def compiled(folder: pathlib.Path, name: str, text: str, *flags: str) -> pathlib.Path:
    source = folder / f"{name}.c"
    source.write_text(text)
    subprocess.run([COMPILER, "-O1", str(source), "-o", str(folder / name), *flags], check=True)
    return folder / name


@pytest.mark.parametrize("bind_now", ["0", "1"])
def test_the_lookups_give_what_they_should(tmp_path, bind_now):
    driver = compiled(tmp_path, "libcuda.so.1", DRIVER, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    program = compiled(tmp_path, "program", PROGRAM, "-ldl", "-lpthread")
    setting = [f"LD_PRELOAD={LIBRARY}", f"LD_LIBRARY_PATH={driver.parent}"]
    setting += ["LD_BIND_NOW=1"] if bind_now == "1" else []
    flags = [word for one in setting for word in ("-E", one)]
    done = subprocess.run([*EMULATOR, *flags, str(program)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "as on amd64\n"), done.stdout + done.stderr
