# Where things go: <prefix>/bin, and <prefix>/lib/graphglue for what the worker runs.  A wheel's scripts and data folders become just that in the
# environment it is installed in.  `cpack -G DEB` in a build folder makes the Debian package.
if(SKBUILD)
  set(GG_INSTALL_BIN ${SKBUILD_SCRIPTS_DIR})
  set(GG_INSTALL_LIB ${SKBUILD_DATA_DIR}/lib/graphglue)
else()
  set(GG_INSTALL_BIN bin)
  set(GG_INSTALL_LIB lib/graphglue)
  install(FILES README.md CHANGELOG.md LICENSE NOTICE THIRD_PARTY_NOTICES.md DESTINATION share/doc/graphglue-lsp)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME graphglue-lsp)
set(CPACK_PACKAGE_VENDOR "the graphglue-lsp authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Language server that shows and mends graph breaks of torch.compile")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the graphglue-lsp authors <graphglue-lsp@users.noreply.github.com>")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS python3)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcurl4, ca-certificates") # loaded when a language model is asked
include(CPack)
