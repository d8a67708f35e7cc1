#pragma once
#include <string>
#include <string_view>
#include <vector>

/// The bundled Lua library, scripts/lib/*.lua, which is part of the binary, and its doc comments.
///
/// A script gets it by `local lib = require "moonloop.lib"`. A file that is a function of the
/// library is named after it and begins that function with a doc comment of this form:
///
///     --- SUMMARY
///     ---
///     --- PARAGRAPHS, refusals at the end
///     ---
///     --- @param NAME (KIND, required): HELP
///     --- @param NAME (KIND, default VALUE): HELP
///     --- @option NAME (KIND, default VALUE): HELP
///     --- @return NAME (KIND): HELP
///     --- @example
///     ---     KERNEL TEXT
///     ---
///     ---     LUA
///     local function FUNCTION(knl, NAMES OF THE PARAMETERS[, options])
///
/// The kernel comes first and is not listed; options are passed by name in the last table.
namespace moonloop {

struct LibraryFile {
  std::string_view name, text;  // `tile` and the content of tile.lua
};
/// All files, alphabetical.
const std::vector<LibraryFile>& library_files();

struct LibraryParam {
  std::string name, kind, help;
  bool required = false;
  std::string fallback;  // the default, for help
  bool positional = false;
};
struct LibraryResult {
  std::string name, kind, help;
};
struct LibraryFunction {
  std::string name;
  std::string doc;  // first line: summary
  std::vector<LibraryParam> params;
  std::vector<LibraryResult> results;
  std::string example_kernel, example;
};
/// The functions of the library, alphabetical.
const std::vector<LibraryFunction>& library();

/// The documentation of function `name` from the doc comment in `text`. A comment of another form
/// than the above, or one that does not fit its function's parameters, is a bug of the library:
/// InternalError.
LibraryFunction parse_library_file(std::string_view name, std::string_view text);

}  // namespace moonloop
