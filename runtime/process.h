#pragma once
#include <string>
#include <vector>

namespace moonloop {

/// The result of a program that ran to its end.
struct ProcessResult {
  int status = 0;      // exit status, or 128 + the signal that ended it
  std::string output;  // standard output and error together, at most 64 KiB (the rest is dropped)
};

/// Runs argv[0] (a path with a slash) without a shell, with an empty standard input, in `folder`
/// (empty: here), and waits for it. Fails `cannot-start` when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& argv, const std::string& folder = {});

/// The absolute path of the program `name`, looked up in $PATH unless it has a slash; empty when
/// there is no executable one.
std::string find_program(const std::string& name);

}  // namespace moonloop
