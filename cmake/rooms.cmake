# A room is one folder of src/: one library, one unit-test program, one entry in the layer rules.

# tranche_room(<name> [DEPENDS room...] [PRIVATE target...] [TEST_LINK target...] [LABELS label...])
#   Builds every *.cpp of the folder into tranche_<name>, and every *_test.cpp into <name>_test
#   (which links TEST_LINK too, and carries LABELS in ctest).
#   Only rooms named in DEPENDS can be included: each room's headers are reached through a folder
#   that holds nothing but a link to that room.
function(tranche_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;PRIVATE;TEST_LINK;LABELS" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  set(include_dir ${CMAKE_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${include_dir})
  if(NOT EXISTS ${include_dir}/${name})
    file(CREATE_LINK ${dir} ${include_dir}/${name} SYMBOLIC)
  endif()

  set(depends)
  foreach(room IN LISTS ROOM_DEPENDS)
    list(APPEND depends tranche_${room})
  endforeach()
  if(sources)
    add_library(tranche_${name} STATIC ${sources})
    target_include_directories(tranche_${name} PUBLIC ${include_dir})
    target_link_libraries(tranche_${name} PUBLIC ${depends} PRIVATE tranche_options ${ROOM_PRIVATE})
  else()
    add_library(tranche_${name} INTERFACE)
    target_include_directories(tranche_${name} INTERFACE ${include_dir})
    target_link_libraries(tranche_${name} INTERFACE ${depends})
  endif()

  if(TRANCHE_TESTS AND tests)
    tranche_test(${name}_test SOURCES ${tests} LABELS ${ROOM_LABELS}
      LINK tranche_${name} ${ROOM_PRIVATE} ${ROOM_TEST_LINK})
  endif()
endfunction()

if(TRANCHE_TESTS)
  add_custom_target(unit_tests)      # everything that the sanitizers run
  add_custom_target(threaded_tests)  # what ThreadSanitizer runs
endif()

# tranche_test(<name> SOURCES file... [LINK target...] [LABELS label...])
#   One GoogleTest program, run by ctest from the repository root.
function(tranche_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINK;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${TEST_LINK} tranche_options GTest::gmock GTest::gtest
                        GTest::gtest_main)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12, optimising, takes an empty std::optional in a table of cases for uninitialised memory.
    target_compile_options(${name} PRIVATE -Wno-maybe-uninitialized)
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "unit;${TEST_LABELS}" TIMEOUT 300)
  add_dependencies(unit_tests ${name})
  if("threaded" IN_LIST TEST_LABELS)
    add_dependencies(threaded_tests ${name})
  endif()
endfunction()

if(TRANCHE_FUZZ)
  add_custom_target(fuzz_targets)
endif()

# tranche_fuzz(<name> SOURCES file... LINK target...)
#   One libFuzzer program; its corpus is tests/fuzz/corpus/<name>/.
function(tranche_fuzz name)
  if(NOT TRANCHE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(FUZZ "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${FUZZ_SOURCES})
  target_link_libraries(${name} PRIVATE ${FUZZ_LINK} tranche_options)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_dependencies(fuzz_targets ${name})
endfunction()
