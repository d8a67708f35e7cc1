#pragma once
#include <string>

#include "runtime/process.h"
#include "tests/runtime/support.h"

/// NumPy: an oracle that shares nothing with Moonloop.
namespace moonloop::test {

/// A Python that has NumPy; another one may hide the system's own.
inline std::string python() {
  for (const char* name : {"python3", "/usr/bin/python3"}) {
    const std::string path = find_program(name);
    if (!path.empty() && run_process({path, "-c", "import numpy"}).status == 0) return path;
  }
  FAIL("no python3 with NumPy; `./dev test` installs python3-numpy");
  return {};
}

/// The output of a script of tests/.
inline std::string printed_by(const std::string& script, const std::string& arguments = {}) {
  const Folder folder;
  const std::string path = std::string(MOONLOOP_SOURCE_DIR) + "/tests/" + script;
  const std::string command = "exec '" + python() + "' '" + path + "' " + arguments + " >out";
  const ProcessResult r = run_process({"/bin/sh", "-c", command}, folder.path());
  INFO(r.output);
  REQUIRE(r.status == 0);
  return slurp(folder / "out");
}

}  // namespace moonloop::test
