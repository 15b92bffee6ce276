# Target tranche_grpc: gRPC and protobuf as Debian 12 ships them.
#
# All our gRPC runs over unix sockets without TLS, so the "unsecure" libraries do, and the generated
# code needs only protobuf's lite runtime. Static by default. Measured on a server with one service
# and a client in the same process, stripped, after 100 calls (resident memory, file size):
#   static, unsecure, lite      7.2 MB   5.6 MB    <- this
#   static, unsecure, full      8.1 MB   6.8 MB
#   static, secure, full       10.8 MB  13.9 MB
#   shared, unsecure           12.2 MB
#   shared, secure             16.1 MB
# Sanitized builds take the shared libraries: ThreadSanitizer can be told to ignore what happens
# inside uninstrumented shared objects (TSAN_OPTIONS=ignore_noninstrumented_modules=1), not inside
# archives.
include_guard(GLOBAL)

find_program(TRANCHE_PROTOC protoc REQUIRED)
find_program(TRANCHE_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

add_library(tranche_grpc INTERFACE)

# pkg-config knows the abseil parts, some of which gRPC's headers refer to.
pkg_check_modules(TRANCHE_GRPC_PC REQUIRED grpc++_unsecure)

if(TRANCHE_SANITIZE)
  set(names ${TRANCHE_GRPC_PC_LIBRARIES})
  list(REMOVE_DUPLICATES names)
  # The full protobuf contains the lite one, and libgrpc++ may bring it anyway: never both.
  target_link_libraries(tranche_grpc INTERFACE ${names} protobuf Threads::Threads)
  target_link_options(tranche_grpc INTERFACE -Wl,--as-needed)
  return()
endif()

# Its order is full of repetitions; a rescanned group needs none. It does not know what else
# libgrpc_unsecure.a refers to.
set(names ${TRANCHE_GRPC_PC_STATIC_LIBRARIES})
list(FILTER names INCLUDE REGEX "^(grpc|gpr|absl_)")
list(APPEND names address_sorting re2 upb cares z protobuf-lite)
list(REMOVE_DUPLICATES names)
set(archives)
foreach(name IN LISTS names)
  find_library(TRANCHE_ARCHIVE_${name} lib${name}.a REQUIRED)
  mark_as_advanced(TRANCHE_ARCHIVE_${name})
  list(APPEND archives ${TRANCHE_ARCHIVE_${name}})
endforeach()
list(JOIN archives "," archives)
target_link_libraries(tranche_grpc INTERFACE "$<LINK_GROUP:RESCAN,${archives}>" Threads::Threads
                      ${CMAKE_DL_LIBS} m)
target_link_options(tranche_grpc INTERFACE -static-libstdc++ -static-libgcc)
