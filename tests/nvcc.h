#pragma once
#include <optional>
#include <set>
#include <string>

#include "runtime/file.h"
#include "runtime/process.h"

namespace moonloop::test {

/// The messages of nvcc for these CUDA programs, as one file for sm_75 and sm_90, each program in a
/// namespace of its own. Empty when it takes them; nothing where there is no nvcc.
inline std::optional<std::string> nvcc_complaint(const std::set<std::string>& programs) {
  const std::string nvcc = find_program("nvcc");
  if (nvcc.empty()) return std::nullopt;
  std::string all;
  int number = 0;
  for (std::string text : programs) {
    for (std::size_t at = 0; (at = text.find("extern \"C\" ", at)) != std::string::npos;)
      text.erase(at, 11);  // functions of C are one in all namespaces
    all += "namespace n" + std::to_string(number++) + " {\n" + text + "}\n";
    const std::string record = "#define MOONLOOP_RECORD_";  // another namespace has another type
    for (std::size_t at = 0; (at = text.find(record, at)) != std::string::npos; ++at)
      all += "#undef" + text.substr(at + 7, text.find('\n', at) - at - 7) + "\n";
  }
  const TemporaryFolder folder("/tmp", "moonloop-");
  write_file(folder.path() + "/all.cu", {all});
  const ProcessResult compiled = run_process(
      {nvcc, "-gencode", "arch=compute_75,code=sm_75", "-gencode", "arch=compute_90,code=sm_90",
       "-Xcicc", "-O1", "-Xptxas", "-O0", "--threads", "2", "-c", "all.cu", "-o", "all.o"},
      folder.path());
  return compiled.status == 0 ? "" : compiled.output;
}

}  // namespace moonloop::test
