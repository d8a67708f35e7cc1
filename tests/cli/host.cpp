#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

TEST_CASE("host: programs around generated code build with plain CMake and run") {
  const Folder folder;
  build_example("host", folder);
  for (const std::string target : {"openmp", "opencl"}) {
    CAPTURE(target);
    const Outcome ran = shell("build/smooth_" + target, folder.str());
    CHECK(ran.status == 0);
    CHECK(ran.out == "smoothed 45 x 70 points\n");
  }
  if (shell("nvcc --version").status == 0) {
    CHECK(folder.has("build/smooth_cuda"));
  } else {
    MESSAGE("there is no nvcc: the host program for CUDA was not built");
  }
}

TEST_CASE("host: each target has a header with the arguments in their order") {
  const Folder folder;
  const std::string kernel = folder.write("axpy.loop", R"(
kernel axpy(n: int32, a: float32, x: in float32[n], y: inout float32[n])
domain {[i]: 0 <= i < n}
y[i] = a*x[i] + y[i]
)");
  const auto header = [&](const std::string& target) {
    const Outcome made =
        tool("gen axpy.loop --target " + target + " --header axpy.h -o axpy.out", folder.str());
    CHECK(made.status == 0);
    return folder.read("axpy.h");
  };
  CHECK(contains(header("openmp"),
                 "void axpy(int32_t n, float a, float const *MOONLOOP_RESTRICT x, float "
                 "*MOONLOOP_RESTRICT y);"));
  CHECK(contains(header("cuda"), "int axpy(int n, float a, float const *x, float *y);"));
  CHECK(contains(header("opencl"),
                 "static inline cl_int axpy(cl_command_queue queue, int32_t n, float a, cl_mem x, "
                 "cl_mem y) {"));
}
