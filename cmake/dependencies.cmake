# Third-party libraries, all from Debian 12 (docs/decisions/0002-dependencies.md).

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# Debian has no static archive of fmt and spdlog, and shared objects would cost resident memory in an
# agent that runs on every node. fmt's compiled half is built here; spdlog is used as headers, by one
# file.
find_package(fmt REQUIRED)
add_library(tranche_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_library.cpp)
target_link_libraries(tranche_fmt PRIVATE tranche_options)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

find_library(TRANCHE_YAML_CPP_STATIC libyaml-cpp.a REQUIRED)
add_library(tranche_yaml_cpp INTERFACE)
if(TRANCHE_SANITIZE)
  # The archive is not position independent enough for a shared object that shares its C++ runtime.
  target_link_libraries(tranche_yaml_cpp INTERFACE yaml-cpp)
else()
  target_link_libraries(tranche_yaml_cpp INTERFACE ${TRANCHE_YAML_CPP_STATIC})
endif()

# The API server's client (docs/decisions/0007-kubernetes-client.md). Headers alone: the library is
# loaded when it is needed (src/kubernetes/kube/curl_library.h).
pkg_check_modules(TRANCHE_CURL REQUIRED libcurl)
add_library(tranche_curl INTERFACE)
target_include_directories(tranche_curl SYSTEM INTERFACE ${TRANCHE_CURL_INCLUDE_DIRS})
target_link_libraries(tranche_curl INTERFACE ${CMAKE_DL_LIBS})

# The HTTPS server (docs/decisions/0037-webhook.md). libevent as archives: as shared objects every
# process of the program would load them, and the webhook is a part of one. OpenSSL's headers alone:
# it is loaded when it is needed (src/common/http/openssl_library.h).
find_path(TRANCHE_OPENSSL_INCLUDE openssl/ssl.h REQUIRED)
find_path(TRANCHE_EVENT_INCLUDE event2/http.h REQUIRED)
add_library(tranche_https INTERFACE)
target_include_directories(tranche_https SYSTEM INTERFACE ${TRANCHE_EVENT_INCLUDE}
                           ${TRANCHE_OPENSSL_INCLUDE})
set(archives)
foreach(name event_openssl event_extra event_core)
  find_library(TRANCHE_ARCHIVE_${name} lib${name}.a REQUIRED)
  mark_as_advanced(TRANCHE_ARCHIVE_${name})
  list(APPEND archives ${TRANCHE_ARCHIVE_${name}})
endforeach()
target_link_libraries(tranche_https INTERFACE ${archives} Threads::Threads ${CMAKE_DL_LIBS})

# The terminal of tranche-top (docs/decisions/0061-terminal.md). As archives, so that the image needs
# no further library.
find_path(TRANCHE_NCURSES_INCLUDE ncursesw/curses.h REQUIRED)
add_library(tranche_ncurses INTERFACE)
target_include_directories(tranche_ncurses SYSTEM INTERFACE ${TRANCHE_NCURSES_INCLUDE})
set(archives)
foreach(name ncursesw tinfo)
  find_library(TRANCHE_ARCHIVE_${name} lib${name}.a REQUIRED)
  mark_as_advanced(TRANCHE_ARCHIVE_${name})
  list(APPEND archives ${TRANCHE_ARCHIVE_${name}})
endforeach()
target_link_libraries(tranche_ncurses INTERFACE ${archives})

# Compressed answers (src/common/http/gzip.h). The archive that gRPC needs as well
# (cmake/grpc.cmake): a shared one would be loaded by every process of the program.
find_path(TRANCHE_ZLIB_INCLUDE zlib.h REQUIRED)
find_library(TRANCHE_ARCHIVE_z libz.a REQUIRED)
mark_as_advanced(TRANCHE_ZLIB_INCLUDE TRANCHE_ARCHIVE_z)
add_library(tranche_zlib INTERFACE)
target_include_directories(tranche_zlib SYSTEM INTERFACE ${TRANCHE_ZLIB_INCLUDE})
target_link_libraries(tranche_zlib INTERFACE ${TRANCHE_ARCHIVE_z})
