#pragma once
#include <CLI/CLI.hpp>

#include "cli/options.h"

/// `gen --dispatch`: two versions of a kernel in one function.
namespace moonloop::cli {

struct DispatchOptions {
  std::string device;                 // TARGET or TARGET:FILE.lua; empty: no dispatch
  std::vector<std::string> profiles;  // TARGET=NAME|FILE
  std::vector<std::string> trips;     // INAME=NUMBER
  bool resident = false;
};

/// --dispatch, --profile and --trips of `gen`.
void add_dispatch_options(CLI::App& command, DispatchOptions& o);

struct Dispatched {
  std::string code, header;  // one unit; the header is that of the last kernel
};

/// For the kernels that the command line asks for. Without scripts, a version is what `auto` makes
/// of it, on the host where no block of the input has steps of its own. Fails as dispatch(),
/// fit_guard(), generate() and automatic() do.
Dispatched dispatch_kernels(const Common& common, Target host, const DispatchOptions& o);

}  // namespace moonloop::cli
