#pragma once
#include "codegen/codegen.h"
#include "core/base/diagnostic.h"
#include "core/model/print.h"
#include "frontends/text/parse.h"
#include "scripts/script.h"

/// Moonloop within a C++ program: makes kernels, transforms them by a script and generates code.
///
///     namespace ml = moonloop;
///     std::vector<ml::Kernel> kernels = ml::parse_kernels(ml::add_source("axpy.loop", text));
///     kernels = ml::run_transform_script(ml::add_source("axpy.lua", script), kernels, {});
///     std::string code = ml::generate(kernels.front(), ml::Target::OpenMP).source;
///
/// A kernel is a value; no function changes the one that it is given. Errors of the user, including
/// steps that would change the meaning, are thrown as Error, which `render` prints with the line
/// that it is about; InternalError is a bug of Moonloop. A script runs in a sandbox, with the
/// limits that ScriptOptions sets. Texts given to `add_source` live as long as the process does, so
/// that diagnostics can show them.
///
/// A kernel belongs to the thread that made it: each thread has an isl context of its own.
///
/// Each transform is also a function of its own, in `transforms/NAME.h`. The interpreter is in
/// `core/interpreter/interpreter.h`, compiled runs are in `runtime/runner.h`, the Fortran reader is
/// in `frontends/fortran/fortran.h`. Only these headers, and those that they include, are
/// installed.
