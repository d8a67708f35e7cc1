#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/codegen.h"

/// What the commands share: options, the way from an input to a transformed kernel, exit statuses.
namespace moonloop::cli {

enum Status { kDone = 0, kError = 1, kUsage = 2, kDifference = 3, kCompiler = 4 };

/// Options common to all commands, decoded.
struct Common {
  std::string input;                                            // a path, or `-`
  std::vector<std::string> transforms;                          // -t, in order
  std::vector<std::pair<std::string, std::string>> params;      // -p NAME=VALUE, VALUE as written
  std::vector<std::pair<std::string, std::string>> defines;     // -D
  std::vector<std::pair<std::string, std::string>> settings;    // --set
  std::string kernel;                                           // --kernel; empty: the only one
  int device = 0;
  bool quiet = false;
  bool color = false;                                           // of diagnostics, on stderr
  bool trust = false;
};

/// All kernels of the input, each after the -t scripts, in order.
std::vector<Kernel> load_kernels(const Common& c);
/// The one that --kernel names; without it the only one. Fails `unknown-kernel`, `which-kernel`.
Kernel load_kernel(const Common& c);

/// Writes all of `text` to `path` (`-`: standard output) or nothing: a temporary file beside it is
/// renamed. Fails `cannot-write`.
void write_output(const std::string& path, const std::string& text);

}  // namespace moonloop::cli
