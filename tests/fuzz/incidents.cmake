# Files of incidents, which operators send each other.
tranche_fuzz(incident_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/incident_fuzz.cpp LINK tranche_cli_incident)
