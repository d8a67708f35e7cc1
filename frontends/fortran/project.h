#pragma once
#include <memory>
#include <string>
#include <vector>

#include "frontends/fortran/fortran.h"

namespace moonloop {

/// The Fortran files of a build, each with the command that compiles it.
struct FortranProject {
  struct File {
    std::string path, folder;        // where its compiler runs
    std::string canonical;           // `path` without links
    std::vector<std::string> words;  // of the command, the compiler first
    /// What the compiler defines by itself.
    std::vector<std::pair<std::string, std::string>> predefined = {};

    /// Fails as CompilerOptions does.
    FortranOptions options() const;
  };
  std::string name;  // the file that says so
  std::vector<File> files;

  /// The first one of that path; null if there is none.
  const File* find(const std::string& path) const;
};

/// Reads a `compile_commands.json`, as CMake, Meson and Bear write it, or the one in a folder.
/// Fails `cannot-read`, and `bad-project` where it is not one, or has no Fortran file.
std::shared_ptr<const FortranProject> read_project(const std::string& path);

/// `own`, what is asked for besides, with what the build says about `path`, whose modules then
/// come from the build's files. Fails `not-in-project`, `unsupported` for options as
/// CompilerOptions does.
FortranOptions options_in_project(std::shared_ptr<const FortranProject> project,
                                  const std::string& path, const FortranOptions& own);

}  // namespace moonloop
