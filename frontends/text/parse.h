#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Parses a `.loop` file: every kernel in it, in order, each through the creation pipeline (inames,
/// dependencies, argument guessing; types and shapes stay absent where the text gives none, see
/// core/infer/infer.h). Collects all errors it can before it throws Error.
std::vector<Kernel> parse_kernels(const Source* source);

/// The name of the program of a file, where it has one, behind all its kernels; else none. The file
/// is one that `parse_kernels` takes.
std::optional<std::string> program_of(const Source* source);

/// Loo.py's make_kernel: domains and instruction text separate.
struct MakeKernel {
  std::vector<std::string> domains = {};
  std::string instructions = {};
  std::string name = "loopy_kernel";
  std::vector<std::string> args =
      {};  // declarations as in a kernel's argument list; "..." guesses the rest
  std::string assumptions = {};
  bool sequential = false;  // seq_dependencies
  std::vector<std::pair<std::string, std::int64_t>> fixed_parameters = {};
  std::string default_order = "C";
  Scalar index_type = Scalar::I32;
  /// Those that the instructions may call, with the loops that steps gave them.
  std::vector<Kernel> kernels = {};
  bool program = false;  // what it calls becomes part of it, as in `program` text
};
Kernel make_kernel(const MakeKernel& m, const Span& at = {});

}  // namespace moonloop
