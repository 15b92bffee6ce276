#pragma once
// How programs find the driver's functions: dlsym, dlvsym, dlmopen, and cuGetProcAddress (in
// hooked.cpp). In each the real one answers first; if we hook its answer, the program gets our
// function.
//
// The C library's three depend on their caller (RTLD_NEXT, an object's own search path). So each
// begins with a few instructions (trampolines.S) that only check the second argument and, unless it
// concerns us, jump to the real function with the caller's return address in place.

extern "C" {
// 1: answered here (lookup_*), 0: jump to the real function.
int tranche_is_our_symbol(const char* name);
int tranche_is_our_file(const char* file);
void* tranche_lookup_dlsym(void* handle, const char* name);
void* tranche_lookup_dlvsym(void* handle, const char* name, const char* version);
void* tranche_lookup_dlmopen(long space, const char* file, int mode);
extern void* tranche_real_dlsym;
extern void* tranche_real_dlvsym;
extern void* tranche_real_dlmopen;
}
