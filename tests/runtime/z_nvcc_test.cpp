// The last of these tests, by its name: the others' programs for CUDA compile, also where there is
// no such device.
#include "tests/nvcc.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;

TEST_CASE("nvcc: takes the code for CUDA of all kernels that these tests ran on devices") {
  const auto complaint = test::nvcc_complaint(test::cuda_programs());
  if (!complaint) {
    MESSAGE("there is no nvcc: the CUDA code of the device tests was not compiled");
    return;
  }
  CHECK(*complaint == "");
  MESSAGE(test::cuda_programs().size() << " programs");
}
