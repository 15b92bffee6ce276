# What nodes' agents, and a controller, answer.
tranche_fuzz(fleet_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/fleet_fuzz.cpp LINK tranche_controller_web)
