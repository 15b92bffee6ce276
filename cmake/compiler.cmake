# Warnings, sanitizers and ccache for everything that is ours.

add_library(tranche_options INTERFACE)
target_compile_options(tranche_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
  # Designated initializers name what differs; the rest has defaults.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 warns falsely of overlapping copies in `"literal" + std::string` (GCC bug 105651).
  target_compile_options(tranche_options INTERFACE -Wno-restrict)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ takes a .cpp that is included by a merged one for a header, and warns of its own types in it.
  target_compile_options(tranche_options INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  # g++ 12's std::stable_sort calls what it marks deprecated itself, and clang says so to its users.
  target_compile_options(tranche_options INTERFACE -Wno-deprecated-declarations)
  # Part of clang's -Wconversion, not of g++'s.
  target_compile_options(tranche_options INTERFACE -Wno-sign-conversion)
endif()

# Sanitized code is compiled and linked with the same flags; generated code opts out of the
# instrumentation (tranche_unsanitized) because it costs 15 s a file and is not ours.
if(TRANCHE_SANITIZE)
  target_compile_options(tranche_options INTERFACE
    -fsanitize=${TRANCHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_definitions(tranche_options INTERFACE TRANCHE_SANITIZED)
  if(TRANCHE_SANITIZE STREQUAL thread)
    target_compile_definitions(tranche_options INTERFACE TRANCHE_THREAD_SANITIZED)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # The drivers' functions are called by types of our own.
    target_compile_options(tranche_options INTERFACE -fno-sanitize=function)
  endif()
  add_link_options(-fsanitize=${TRANCHE_SANITIZE})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these two a clone in another folder gets no hit (paths enter the hash through -g).
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
