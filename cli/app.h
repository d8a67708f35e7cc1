#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>

#include "cli/options.h"

namespace moonloop::cli {

/// The command line, with all commands: `doc` reads its help from it. Where `first`, the first
/// argument, is a command that needs no other, only this one: unused options would take a quarter
/// of the instructions of a kernel of one line.
void build_app(CLI::App& app, Common& common, std::function<int()>& action,
               std::string_view first = {});

}  // namespace moonloop::cli
