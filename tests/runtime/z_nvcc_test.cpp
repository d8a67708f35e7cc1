// The last of these tests, by its name: what the others made for CUDA compiles, also where there is
// no such device.
#include "runtime/file.h"
#include "runtime/process.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;

TEST_CASE("nvcc: takes the code for CUDA of all kernels that these tests ran on devices") {
  const std::string nvcc = find_program("nvcc");
  if (nvcc.empty()) {
    MESSAGE("there is no nvcc: the CUDA code of the device tests was not compiled");
    return;
  }
  std::string all;
  int programs = 0;
  for (std::string text : test::cuda_programs()) {
    for (std::size_t at = 0; (at = text.find("extern \"C\" ", at)) != std::string::npos;)
      text.erase(at, 11);  // functions of C are one, whatever the namespace
    all += "namespace n" + std::to_string(programs++) + " {\n" + text + "}\n";
    const std::string record = "#define MOONLOOP_RECORD_";  // another namespace has another type
    for (std::size_t at = 0; (at = text.find(record, at)) != std::string::npos; ++at)
      all += "#undef" + text.substr(at + 7, text.find('\n', at) - at - 7) + "\n";
  }
  const TemporaryFolder folder("/tmp", "moonloop-");
  write_file(folder.path() + "/all.cu", {all});
  const ProcessResult compiled = run_process(
      {nvcc, "-gencode", "arch=compute_75,code=sm_75", "-gencode", "arch=compute_90,code=sm_90",
       "-Xptxas", "-O0", "--threads", "2", "-c", "all.cu", "-o", "all.o"},
      folder.path());
  CHECK(compiled.status == 0);
  if (compiled.status != 0) MESSAGE(compiled.output);
  MESSAGE(programs << " programs");
}
