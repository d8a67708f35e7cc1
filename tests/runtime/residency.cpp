// Arrays of the host that stay on a device between calls: the part of generated programs that does
// it, with memory of the host in the place of the device's.
#include <doctest/doctest.h>

#include "codegen/print/cuda_residency.h"
#include "runtime/file.h"
#include "runtime/process.h"

using namespace moonloop;

namespace {

const char* const kDevice = R"(#include <cstdlib>
#include <cstring>
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation = 2, cudaErrorInitializationError = 3 };
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
static int cudaMalloc(void **p, size_t n) { return (*p = std::malloc(n)) ? 0 : 2; }
static int cudaFree(void *p) { std::free(p); return 0; }
static int moved = 0;
static int cudaMemcpy(void *to, void const *from, size_t n, int) {
  std::memcpy(to, from, n);
  ++moved;
  return 0;
}
static int cudaGetDevice(int *n) { *n = 0; return 0; }
static int cudaSetDevice(int) { return 0; }
static const char *cudaGetErrorString(cudaError_t) { return "an error"; }
)";

const char* const kProgram = R"(
#include <fcntl.h>
#include <thread>
#include <vector>
using namespace moonloop_resident;

static void times(double *x, size_t n, double by) {  // what a generated function does
  void *there = nullptr;
  if (enter(x, 8*n, true, &there) || send()) exit(2);
  for (size_t i = 0; i < n; ++i) static_cast<double *>(there)[i] *= by;
  if (leave(x, 8*n, true, there)) exit(3);
}
static double first(double const *x, size_t n) {
  void *there = nullptr;
  if (enter(x, 8*n, false, &there) || send()) exit(2);
  const double value = static_cast<double *>(there)[0];
  if (leave(x, 8*n, false, there)) exit(3);
  return value;
}
static void copies(const char *when) {
  printf("%s: %llu to, %llu back\n", when, state().to_device, state().to_host);
}

int main(int count, char **argv) {
  if (count == 3) {
    const long long none = 0;
    const int line = 12;
    moonloop_resident_(&none, &none, &line);
  }
  const size_t n = 1 << 17;
  double *x = static_cast<double *>(malloc(8*n));
  for (size_t i = 0; i < n; ++i) x[i] = 1;
  times(x, n, 2), times(x, n, 3), times(x + 100, 50, 2);
  copies("three calls");
  printf("%g %g\n", x[n/2], x[0]);
  copies("the host has read");
  times(x, n, 0.5);
  printf("%g\n", x[n/2]);
  first(x, n);
  copies("read in the middle, then the device reads");
  x[n - 1] = 100;
  times(x, n, 2);
  printf("%g of the device's, %g\n", x[120], x[n - 1]);

  times(x, n, 2);
  double sums[4] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < n; ++i) sums[t] += x[i];
    });
  for (std::thread &t : threads) t.join();
  printf("%g %d\n", sums[0], sums[0] == sums[1] && sums[1] == sums[2] && sums[2] == sums[3]);

  times(x, n, 2);
  free(x);  // its values are on the device
  double *y = static_cast<double *>(malloc(8*n));
  for (size_t i = 0; i < n; ++i) y[i] = 7;
  times(y, n, 2);
  printf("new array: %g\n", y[3]);
  first(y, n);
  free(y);  // both have its values
  double *z = static_cast<double *>(malloc(8*(n/2)));
  for (size_t i = 0; i < n/2; ++i) z[i] = 9;
  printf("smaller one: %g\n", first(z, n/2));
  z = static_cast<double *>(realloc(z, 8*2*n));
  z[2*n - 1] = 4;
  times(z, 2*n, 3);
  printf("grown: %g %g\n", z[0], z[2*n - 1]);

  double on_stack[3] = {1, 2, 3};
  alignas(4096) static double fixed[1 << 16];  // whole pages
  fixed[5] = 5;
  times(on_stack, 3, 2), times(fixed, 1 << 16, 2);
  printf("others: %g %g\n", on_stack[2], fixed[5]);

  alignas(4096) static double table[3][50000];  // the middle one shares its first and last page
  for (double &x : *table) x = 1;
  for (double &x : table[1]) x = 1;
  copies("before the static ones");
  times(table[1], 50000, 2), times(table[1], 50000, 3), times(table[1] + 600, 49000, 2);
  copies("three calls");
  printf("edges: %g %g, neighbours %g %g\n", table[1][0], table[1][49999], table[0][49999], table[2][0]);
  table[1][0] = 10, table[0][49999] = 4, table[1][49999] = 20;
  times(table[1], 50000, 2);
  copies("the host changed edges");
  printf("%g %g %g", table[1][0], table[1][49999], table[1][25000]);
  table[1][30000] = 5;
  times(&table[0][0], 100000, 2);  // more of it
  printf(", then %g %g %g\n", table[0][49999], table[1][30000], table[1][0]);
  const long long where = (long long)table[1], range = sizeof table[1];
  moonloop_update_array_(&where, &range);

  double *named = static_cast<double *>(malloc(8*n)), on_the_stack[20000];
  named[7] = on_the_stack[7] = 3;
  const long long addresses[2] = {(long long)named, (long long)on_the_stack}, sizes[2] = {8*n, 160000};
  const int line = 4;
  int status = 0;
  void *on_device = nullptr;
  printf("named: %d", moonloop_resident_enter(named, 8*n, 1, &on_device, &status));
  moonloop_resident_(&addresses[0], &sizes[0], &line), moonloop_resident_(&addresses[1], &sizes[1], &line);
  printf(" %d", moonloop_resident_enter(on_the_stack, 160000, 1, &on_device, &status));
  printf(" %d %d", moonloop_resident_enter(named, 8*n, 1, &on_device, &status), status);
  static_cast<double *>(on_device)[7] = 9;
  moonloop_resident_leave(named, 8*n, 1, on_device);
  printf(", %g, %zu cannot\n", named[7], state().unfit.size());

  double few[4] = {1, 2, 3, 4};
  const double before = first(few, 4);
  times(few, 4, 5);
  printf("few: %g %g", before, first(few, 4));
  std::vector<double> many(1 << 13);
  for (int i = 0; i < 3000; ++i) many[0] = i, i = int(first(many.data(), 1 << 13));
  printf(" %g, %d bytes of tables\n", first(many.data(), 1 << 13), state().table_bytes <= 65 << 20);

  double a[2] = {1, 2}, b[2] = {3, 4};
  void *there[3];
  const int before_both = moved;
  if (enter(a, sizeof a, true, &there[0]) || enter(b, sizeof b, true, &there[1]) ||
      enter(few, sizeof few, false, &there[2]) || send())
    exit(2);
  static_cast<double *>(there[0])[1] = 6, static_cast<double *>(there[1])[0] = 7;
  if (leave(a, sizeof a, true, there[0]) || leave(b, sizeof b, true, there[1]) ||
      leave(few, sizeof few, false, there[2]))
    exit(3);
  printf("two of a call: %g %g %g %g, %d copies\n", a[0], a[1], b[0], b[1], moved - before_both);

  times(z, 2*n, 2);
  const int file = open("z.bin", O_WRONLY | O_CREAT, 0600);
  printf("the system's kernel: %d", int(write(file, z, 8*2*n)));
  moonloop_update_();
  printf(", then %d\n", int(write(file, z, 8*2*n)));
  fflush(stdout);
  if (argv[1]) *static_cast<volatile int *>(nullptr) = 1;  // a fault of the program's own
}
)";

}  // namespace

TEST_CASE("residency: values are where they are needed, and move no more than that") {
  const TemporaryFolder folder("/tmp", "moonloop-");
  write_file(folder.path() + "/p.cpp", {std::string(kDevice) + kCudaResidency + kProgram});
  const std::string compiler = find_program("g++");
  REQUIRE(!compiler.empty());
  const ProcessResult made = run_process({compiler, "-std=c++14", "-O1", "-g", "-Wall", "-Wextra",
                                          "-Werror", "p.cpp", "-o", "p", "-lpthread"},
                                         folder.path());
  REQUIRE_MESSAGE(made.status == 0, made.output);
  const ProcessResult run = run_process({folder.path() + "/p"}, folder.path());
  CHECK(run.status == 0);
  CHECK(run.output ==
        "three calls: 1 to, 0 back\n6 6\nthe host has read: 1 to, 1 back\n3\n"
        "read in the middle, then the device reads: 2 to, 2 back\n"
        "12 of the device's, 200\n"
        "1.57385e+06 1\nnew array: 14\nsmaller one: 9\ngrown: 27 12\nothers: 6 10\n"
        "before the static ones: 10 to, 8 back\nthree calls: 11 to, 8 back\n"
        "edges: 6 6, neighbours 1 0\nthe host changed edges: 11 to, 8 back\n"
        "20 40 24, then 8 10 40\nnamed: 0 0 1 0, 9, 1 cannot\n"
        "few: 1 5 2999, 1 bytes of tables\ntwo of a call: 1 6 7 4, 3 copies\n"
        "the system's kernel: -1, then 2097152\n");
  const ProcessResult nothing = run_process({folder.path() + "/p", "none", "yet"}, folder.path());
  CHECK(nothing.status == 1);
  CHECK(nothing.output ==
        "moonloop: line 12: an array that is to stay on the device has no memory yet\n");
  const ProcessResult crash = run_process({folder.path() + "/p", "crash"}, folder.path());
  CHECK(crash.status == 128 + 11);
}
