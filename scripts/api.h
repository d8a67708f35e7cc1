#pragma once
#include <string>
#include <vector>

/// The API of scripts besides transforms and the library: the module `lp`, kernels, and what these
/// return. One table, from which help, the reference and the editor stubs are made. Types are
/// written as in the Lua language server.
namespace moonloop {

struct ApiField {
  std::string name, type, doc;
};
struct ApiParam {
  std::string name, type;  // a name that ends in `?` may be left out
};
struct ApiFunction {
  std::string name;
  std::vector<ApiParam> params;  // without the object of a method
  std::vector<std::string> results;
  std::string doc;  // first line: summary
};
struct ApiClass {
  std::string name;  // `moonloop` is the type of `lp`, `moonloop.Kernel` of a kernel
  std::string doc;
  std::vector<ApiField> fields;
  std::vector<ApiFunction> functions;  // of `lp` functions, of a kernel methods
};

/// All of them: `moonloop`, `moonloop.Kernel`, then the types of their fields and functions. Fields
/// and functions are alphabetical.
const std::vector<ApiClass>& lua_api();

}  // namespace moonloop
