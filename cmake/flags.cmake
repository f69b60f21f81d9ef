# One static library per folder: gg_<folder>.  The link order is the layer order; tools/check_layers.py checks the includes.
add_library(gg_flags INTERFACE)
target_include_directories(gg_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(gg_flags INTERFACE _GNU_SOURCE)
target_compile_options(gg_flags INTERFACE
  -Wno-unknown-warning-option -Wno-format-truncation # a path cut by snprintf is one that does not exist: opening it says so
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wundef -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  -fno-omit-frame-pointer)
if(GG_WERROR)
  target_compile_options(gg_flags INTERFACE -Werror)
endif()
if(GG_SANITIZE)
  add_compile_options(-fsanitize=${GG_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GG_SANITIZE})
endif()
if(GG_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(GG_COVERAGE) # mapped into memory (%c): forks, killed and sandboxed processes count too
  add_compile_options(-fprofile-instr-generate=${CMAKE_BINARY_DIR}/coverage/%m%c.profraw -fcoverage-mapping
    "SHELL:-mllvm -runtime-counter-relocation")
  add_link_options(-fprofile-instr-generate)
endif()

# The optimized program is linked as one unit (6 % less time for a scan: half of what predicts are calls into tree-sitter); what tests it, quickly.
if(CMAKE_BUILD_TYPE MATCHES "^Rel" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(GG_WHOLE_PROGRAM -flto=auto)
  add_compile_options(${GG_WHOLE_PROGRAM} -ffat-lto-objects)
  target_compile_options(tree_sitter PRIVATE ${GG_WHOLE_PROGRAM} -ffat-lto-objects)
  # Anywhere on the line it turns that off, also before -flto: so not for the program at all.
  add_link_options($<$<NOT:$<BOOL:$<TARGET_PROPERTY:GG_WHOLE_PROGRAM>>>:-fno-lto>)
endif()

# What script/profile counts in one build tells another which way branches go: an eighth less time for a scan. The counts are named by
# the object's path below the build folder; a function that changed since is compiled as if it had none.
if(GG_COUNT OR GG_PROFILE)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "GG_COUNT and GG_PROFILE need GCC; this is ${CMAKE_C_COMPILER_ID}")
  endif()
  set(profile -fprofile-prefix-path=${CMAKE_BINARY_DIR})
  if(GG_COUNT)
    list(APPEND profile -fprofile-generate=${CMAKE_BINARY_DIR}/profile -fprofile-update=atomic)
    add_link_options(-fprofile-generate)
  else()
    list(APPEND profile -fprofile-use=${GG_PROFILE} -fprofile-correction -fprofile-partial-training -Wno-missing-profile -Wno-error=coverage-mismatch)
  endif()
  add_compile_options(${profile})
  target_compile_options(tree_sitter PRIVATE ${profile})
endif()

# gg_library(<folder> DEPENDS <targets>…): every .c of the folder (globbed; a new file needs no row here).
function(gg_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;GLOBS" ${ARGN})
  if(NOT ARG_GLOBS)
    set(ARG_GLOBS *.c)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_GLOBS})
  if(NOT sources)
    set(sources ${CMAKE_SOURCE_DIR}/cmake/empty.c)
  endif()
  add_library(gg_${name} STATIC ${sources})
  target_link_libraries(gg_${name} PUBLIC gg_flags ${ARG_DEPENDS})
endfunction()

# gg_embed(<folder> <texts> HEADER <h> TYPE <row>): the *.md of a folder of texts as a sorted table <row>s with <row>_count rows in that folder's library.
function(gg_embed name texts)
  cmake_parse_arguments(ARG "" "HEADER;TYPE" "" ${ARGN})
  file(GLOB pages CONFIGURE_DEPENDS ${texts}/*.md)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${ARG_TYPE}s.c)
  set(script ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
  add_custom_command(
    OUTPUT ${table}
    COMMAND ${CMAKE_COMMAND} -DOUT=${table} -DDIR=${texts} -DHEADER=${ARG_HEADER} -DTYPE=${ARG_TYPE} -P ${script}
    DEPENDS ${pages} ${script}
    VERBATIM)
  target_sources(gg_${name} PRIVATE ${table})
endfunction()
