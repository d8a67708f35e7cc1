#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// Where a subprogram may be called: at its beginning, or at an `entry`.
struct EntryPoint {
  std::string name;                    // bare
  std::optional<std::uint64_t> label;  // none: of the first statement
  std::set<std::string> arguments;     // as the source has them
  std::string result;                  // of a function
  bool has_alternates = false;         // labels of the caller to return to
};

/// The label of an `entry` among the statements, of this number from 0: no statement's own.
inline std::uint64_t label_of_entry(std::size_t number) { return 100000 + number; }

/// Makes `r`, which has all statements and variables of a subprogram, the routine that begins at
/// `all[own]`: only what it reaches is left. Results of other entries are its own one, which the
/// standard says for those of one type. Fails `unsupported` where its statements use arguments of
/// other entries, or a variable that keeps its value and that other entries use. `way`: the
/// variable that says to which of the caller's labels to return, if some entry has such ones.
void begin_at(Routine& r, const std::vector<EntryPoint>& all, std::size_t own,
              const std::string& way);

}  // namespace moonloop::fortran
