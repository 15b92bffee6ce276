# What the kernel and the hardware tell, some of it chosen by a container's processes.
tranche_fuzz(process_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/process_fuzz.cpp LINK tranche_host)
tranche_fuzz(pci_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/pci_fuzz.cpp LINK tranche_host)
