# Configuration files, quantities and the other small texts in them.
tranche_fuzz(config_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/config_fuzz.cpp LINK tranche_config_file)
tranche_fuzz(quantity_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/quantity_fuzz.cpp LINK tranche_config)
