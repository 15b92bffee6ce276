# A room is one folder of a wing of src/: one library, one unit-test program, one line of src/rooms.list.

# The rooms in the order of the list: TRANCHE_ROOMS, and for each TRANCHE_FOLDER_<room>, relative to src/.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/rooms.list)
file(STRINGS ${CMAKE_SOURCE_DIR}/src/rooms.list lines REGEX "^[a-z]+/[a-z]+:")
set(TRANCHE_ROOMS)
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([a-z]+)/([a-z]+):" match "${line}")
  list(APPEND TRANCHE_ROOMS ${CMAKE_MATCH_2})
  set(TRANCHE_FOLDER_${CMAKE_MATCH_2} ${CMAKE_MATCH_1}/${CMAKE_MATCH_2})
endforeach()

# tranche_room_folder(<variable> <name>): where a room stands, or a room inside one ("agent/loop").
function(tranche_room_folder variable name)
  string(REGEX MATCH "^([^/]+)(.*)$" match ${name})
  if(NOT DEFINED TRANCHE_FOLDER_${CMAKE_MATCH_1})
    message(FATAL_ERROR "src/rooms.list has no room '${CMAKE_MATCH_1}'")
  endif()
  set(${variable} ${CMAKE_SOURCE_DIR}/src/${TRANCHE_FOLDER_${CMAKE_MATCH_1}}${CMAKE_MATCH_2} PARENT_SCOPE)
endfunction()

# tranche_room(<name> [DEPENDS room...] [PRIVATE target...] [ROOMS folder...] [TEST_LINK target...]
#              [LABELS label...] [SHARDS count])
#   Builds every *.cpp of the folder into tranche_<name>, and every *_test.cpp into <name>_test
#   (which links TEST_LINK too; LABELS and SHARDS as of tranche_test).
#   Only rooms named in DEPENDS can be included: each room's headers are reached through a folder
#   that holds nothing but links to that room.
#   A room may have rooms inside, named in ROOMS: folders with a CMakeLists.txt and a tranche_room()
#   of their own, called <name>/<folder>. They are targets as any other (tranche_<name>_<folder>):
#   who links the outer room does not reach them. Their tests run in <name>_test.
function(tranche_room name)
  cmake_parse_arguments(ROOM "" "SHARDS" "DEPENDS;PRIVATE;ROOMS;TEST_LINK;LABELS" ${ARGN})
  tranche_room_folder(dir ${name})
  string(REPLACE "/" "_" id ${name})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  tranche_room_headers(${id} ${name} "${ROOM_ROOMS}")
  set(include_dir ${CMAKE_BINARY_DIR}/rooms/${id})

  set(depends)
  foreach(room IN LISTS ROOM_DEPENDS)
    string(REPLACE "/" "_" room ${room})
    list(APPEND depends tranche_${room})
  endforeach()
  if(sources)
    add_library(tranche_${id} STATIC ${sources})
    target_include_directories(tranche_${id} PUBLIC ${include_dir})
    target_link_libraries(tranche_${id} PUBLIC ${depends} PRIVATE tranche_options ${ROOM_PRIVATE})
  else()
    add_library(tranche_${id} INTERFACE)
    target_include_directories(tranche_${id} INTERFACE ${include_dir})
    target_link_libraries(tranche_${id} INTERFACE ${depends})
  endif()

  set(test_link tranche_${id} ${ROOM_PRIVATE} ${ROOM_TEST_LINK})
  foreach(room IN LISTS ROOM_ROOMS)
    add_subdirectory(${dir}/${room} ${CMAKE_CURRENT_BINARY_DIR}/${room})
    get_property(inner_tests GLOBAL PROPERTY tranche_tests_of_${id}_${room})
    get_property(inner_link GLOBAL PROPERTY tranche_test_link_of_${id}_${room})
    list(APPEND tests ${inner_tests})
    list(APPEND test_link ${inner_link})
  endforeach()
  if(name MATCHES "/")
    set_property(GLOBAL PROPERTY tranche_tests_of_${id} ${tests})
    set_property(GLOBAL PROPERTY tranche_test_link_of_${id} ${test_link})
  elseif(TRANCHE_TESTS AND tests)
    tranche_test(${id}_test SOURCES ${tests} LABELS ${ROOM_LABELS}
                 SHARDS ${ROOM_SHARDS} LINK ${test_link})
  endif()
endfunction()

# rooms/<id>/<name>: a link to the folder; of a room with rooms inside, links to its headers alone.
function(tranche_room_headers id name rooms)
  tranche_room_folder(dir ${name})
  set(place ${CMAKE_BINARY_DIR}/rooms/${id}/${name})
  get_filename_component(above ${place} DIRECTORY)
  file(MAKE_DIRECTORY ${above})
  if(NOT rooms)
    # A link of a build before may lead to where the room stood then.
    set(leads_to)
    if(IS_SYMLINK ${place})
      file(READ_SYMLINK ${place} leads_to)
    endif()
    if(NOT leads_to STREQUAL dir)
      file(REMOVE_RECURSE ${place})
      file(CREATE_LINK ${dir} ${place} SYMBOLIC)
    endif()
    return()
  endif()
  file(REMOVE_RECURSE ${place})
  file(MAKE_DIRECTORY ${place})
  file(GLOB entries CONFIGURE_DEPENDS RELATIVE ${dir} ${dir}/*)
  list(REMOVE_ITEM entries ${rooms})
  foreach(entry IN LISTS entries)
    file(CREATE_LINK ${dir}/${entry} ${place}/${entry} SYMBOLIC)
  endforeach()
endfunction()

if(TRANCHE_TESTS)
  # What AddressSanitizer and ThreadSanitizer run, and of that what tests the programs that ship.
  add_custom_target(unit_tests)
  add_custom_target(threaded_tests)
  add_custom_target(shipped_unit_tests)
  add_custom_target(shipped_threaded_tests)
endif()

# tranche_test(<name> SOURCES file... [LINK target...] [LABELS label...] [SHARDS count])
#   One GoogleTest program, run by ctest from the repository root.
#   Labels: threaded (ThreadSanitizer runs it too), sim and lab (it tests what tests use, not what
#   ships: sanitized in the long run alone).
#   A program whose tests wait for time-outs is run in SHARDS processes beside each other.
function(tranche_test name)
  cmake_parse_arguments(TEST "" "SHARDS" "SOURCES;LINK;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${TEST_LINK} tranche_options GTest::gmock GTest::gtest
                        GTest::gtest_main)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12, optimising, takes an empty std::optional in a table of cases for uninitialised memory.
    target_compile_options(${name} PRIVATE -Wno-maybe-uninitialized)
  endif()
  # Of a test the compiler's time counts, not its own: half of it goes without optimisation.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set(runs ${name})
  if(TEST_SHARDS)
    set(runs)
    math(EXPR last "${TEST_SHARDS} - 1")
    foreach(shard RANGE ${last})
      list(APPEND runs ${name}.${shard})
    endforeach()
  endif()
  # So long nothing but a test that hangs takes. Sanitized ones are slow, and run beside all others; an
  # emulated processor takes ten times as long.
  set(bound 300)
  if(TRANCHE_SANITIZE)
    set(bound 1500)
  endif()
  if(CMAKE_CROSSCOMPILING)
    set(bound 3000)
  endif()
  foreach(run IN LISTS runs)
    add_test(NAME ${run} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${run} PROPERTIES LABELS "unit;${TEST_LABELS}" TIMEOUT ${bound})
    if(TEST_SHARDS)
      string(REGEX REPLACE "^.*\\." "" shard ${run})
      set_tests_properties(${run} PROPERTIES
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${TEST_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endif()
  endforeach()
  set(kinds unit)
  if("threaded" IN_LIST TEST_LABELS)
    list(APPEND kinds threaded)
  endif()
  foreach(kind IN LISTS kinds)
    add_dependencies(${kind}_tests ${name})
    if(NOT "sim" IN_LIST TEST_LABELS AND NOT "lab" IN_LIST TEST_LABELS)
      add_dependencies(shipped_${kind}_tests ${name})
    endif()
  endforeach()
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
