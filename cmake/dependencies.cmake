# Debian packages through pkg-config; tree-sitter's core and Python grammar from third_party/ (script/bootstrap fetches them by
# version and hash: Debian's runtime is too old for the grammar).
find_package(PkgConfig REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

function(gg_require module target package)
  pkg_check_modules(${target} IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR "graphglue-lsp needs ${module}, which was not found. Install it:  apt-get install ${package}   (or run script/bootstrap)")
  endif()
  set(archives ${ARGN}) # with GG_STATIC_LIBS: lib<name>.a takes the place of the shared one
  if(GG_STATIC_LIBS AND archives)
    find_library(GG_ARCHIVE_${target} NAMES lib${archives}.a HINTS ${${target}_LIBDIR})
    if(NOT GG_ARCHIVE_${target})
      message(FATAL_ERROR "GG_STATIC_LIBS needs lib${archives}.a, which was not found. Install it:  apt-get install ${package}")
    endif()
    set_target_properties(PkgConfig::${target} PROPERTIES
      INTERFACE_LINK_LIBRARIES "${GG_ARCHIVE_${target}};Threads::Threads;${CMAKE_DL_LIBS}")
  endif()
endfunction()

gg_require("libuv>=1.44" libuv libuv1-dev uv_a)
gg_require("jansson>=2.14" jansson libjansson-dev jansson)
gg_require("libxxhash>=0.8" libxxhash libxxhash-dev)
gg_require("nettle>=3.4" nettle nettle-dev nettle)
gg_require("libcurl>=7.87" libcurl libcurl4-openssl-dev) # its headers only; it is loaded when it is needed
gg_require("tomlplusplus>=3.3" tomlplusplus libtomlplusplus-dev) # its headers only

set(GG_TREE_SITTER_DIR ${CMAKE_SOURCE_DIR}/third_party/tree-sitter CACHE PATH "npm tree-sitter, unpacked")
set(GG_TREE_SITTER_PYTHON_DIR ${CMAKE_SOURCE_DIR}/third_party/tree-sitter-python CACHE PATH "npm tree-sitter-python, unpacked")
if(NOT EXISTS ${GG_TREE_SITTER_DIR} OR NOT EXISTS ${GG_TREE_SITTER_PYTHON_DIR}) # as after `git clone`; a source package has them
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/script/fetch-tree-sitter)
endif()
foreach(file ${GG_TREE_SITTER_DIR}/vendor/tree-sitter/lib/src/lib.c ${GG_TREE_SITTER_PYTHON_DIR}/src/parser.c ${GG_TREE_SITTER_PYTHON_DIR}/src/scanner.c)
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "${file} is missing: tree-sitter's core and Python grammar are npm packages. script/fetch-tree-sitter fetches them by version and hash.")
  endif()
endforeach()

set(GG_TREE_SITTER_LIB ${GG_TREE_SITTER_DIR}/vendor/tree-sitter/lib)
add_library(tree_sitter STATIC
  ${GG_TREE_SITTER_LIB}/src/lib.c
  ${GG_TREE_SITTER_PYTHON_DIR}/src/parser.c
  ${CMAKE_CURRENT_LIST_DIR}/python_scanner.c)
target_include_directories(tree_sitter SYSTEM PUBLIC ${GG_TREE_SITTER_LIB}/include)
target_include_directories(tree_sitter SYSTEM PRIVATE ${GG_TREE_SITTER_PYTHON_DIR}/src ${GG_TREE_SITTER_LIB}/src)
target_compile_options(tree_sitter PRIVATE -w)
# Its reference counts are changed atomically but read plainly, which ThreadSanitizer reports; ours are watched.
target_compile_options(tree_sitter PRIVATE -fno-sanitize=thread)
target_compile_definitions(tree_sitter PRIVATE _POSIX_C_SOURCE=200112L _DEFAULT_SOURCE)
