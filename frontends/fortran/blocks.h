#pragma once
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "frontends/fortran/fortran.h"
#include "frontends/fortran/residency.h"

namespace moonloop::fortran {

/// A block in comments.
struct Block {
  std::string name;         // of a tag; empty for a transform
  int first = 0, last = 0;  // lines between its two ends
  int order = 0;            // the line of the input's file that it is on or is included by
  bool fixed = false;       // in fixed form
  Span at;
};

/// A line that says something about the routine that it is in, or before.
struct RoutineMark {
  Span at;
  int order = 0;       // as of a block
  std::string values;  // of `auto`: what parameters are about, `n = 1000, m = 20`
};

struct Blocks {
  std::vector<Block> tagged;
  std::vector<Block> transforms;
  std::vector<RoutineMark> apart;      // lines `noinline`
  std::vector<RoutineMark> automatic;  // lines `auto`
  std::vector<ResidencyLine> residency;
};

/// The blocks in a file's comments and in those of the files that it includes, in their order.
/// Fails `syntax` for one that does not end or does not begin.
Blocks read_blocks(const Source* source, const FortranOptions& how);

/// The Lua in a transform's comments, each line and column where it is in its file.
std::string transform_text(const Block& block);

}  // namespace moonloop::fortran
