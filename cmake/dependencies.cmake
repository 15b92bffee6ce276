# Third-party libraries, all from Debian 12 (docs/decisions/0002-dependencies.md).

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# fmt and spdlog as headers: Debian has no static archive of either, and a shared object would cost
# resident memory in an agent that runs on every node.
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

find_library(TRANCHE_YAML_CPP_STATIC libyaml-cpp.a REQUIRED)
add_library(tranche_yaml_cpp INTERFACE)
target_link_libraries(tranche_yaml_cpp INTERFACE ${TRANCHE_YAML_CPP_STATIC})
