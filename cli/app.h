#pragma once
#include <CLI/CLI.hpp>
#include <functional>

#include "cli/options.h"

namespace moonloop::cli {

/// The whole command line. `doc` reads its help from it.
void build_app(CLI::App& app, Common& common, std::function<int()>& action);

}  // namespace moonloop::cli
