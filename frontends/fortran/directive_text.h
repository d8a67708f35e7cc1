#pragma once
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "frontends/fortran/program.h"
#include "frontends/fortran/temporary_files.h"

namespace moonloop::fortran {

/// A file's text with directives as Flang takes them; lines and columns stay.
struct DirectiveText {
  std::string text;
  std::vector<Span> dropped;      // directives that no longer count
  std::vector<Span> conditional;  // lines that count for OpenMP alone, where they do not
};

/// Makes `+` of the operation `-` of OpenMP's reductions, which adds up too, as its terms have
/// their own signs. Of directives of OpenMP and OpenACC above one loop, which no compiler takes
/// together, OpenMP's stay. Lines that begin with `!$` become comments without `openmp`.
DirectiveText readable_directives(const Source& source, bool fixed, bool openmp);

/// Copies for Flang of files whose directives it would not take, by their paths.
struct ReadableCopy {
  const Source* source;
  std::unique_ptr<File> file;
};
std::map<std::string, ReadableCopy> readable_copies(const std::vector<std::string>& paths,
                                                    const std::string& of,
                                                    const FortranOptions& how);

/// Fails `unsupported` where a file that `source` includes has lines that begin with `!$`, which
/// would count there.
void require_no_conditional_includes(const Source* source, bool fixed, const FortranOptions& how);

/// Tells the routines which of their directives do not count, and which lines, where `how` does not
/// say whether these do.
void note_dropped(const DirectiveText& text, const FortranOptions& how,
                  std::vector<Routine>& routines);

/// Puts an error that names the word in the places of Flang's about a directive with a word that
/// OpenMP and OpenACC do not have.
void name_unknown_clauses(const Source& source, bool fixed, std::vector<Diagnostic>& errors);

/// The same of what `read` throws.
template <typename Read>
auto naming_unknown_clauses(const Source& source, bool fixed, const Read& read) {
  try {
    return read();
  } catch (const Error& e) {
    std::vector<Diagnostic> errors = e.diagnostics();
    name_unknown_clauses(source, fixed, errors);
    throw Error(std::move(errors));
  }
}

}  // namespace moonloop::fortran
