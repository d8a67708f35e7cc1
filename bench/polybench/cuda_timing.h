/* For programs that PPCG makes of PolyBench's: the part that PolyBench times runs several times,
 * and the least time is printed, without that of allocations and copies. */
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>

namespace timing {

inline double apart = 0, begin = 0, least = 1e30;

inline double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}
inline void start() {
  cudaDeviceSynchronize();
  apart = 0;
  begin = now();
}
inline void stop() {
  const cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  const double took = now() - begin - apart;
  if (status == cudaSuccess && took < least) least = took;
}
inline void print() { std::printf("%.9f\n", least); }

/* What the time is not to have. */
template <class F>
cudaError_t outside(F f) {
  cudaDeviceSynchronize();
  const double from = now();
  const cudaError_t status = f();
  cudaDeviceSynchronize();
  apart += now() - from;
  return status;
}
inline cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return outside([&] { return cudaMemcpy(to, from, bytes, kind); });
}
template <class T>
cudaError_t allocate(T** p, size_t bytes) {
  return outside([&] { return cudaMalloc(p, bytes); });
}
inline cudaError_t release(void* p) {
  return outside([&] { return cudaFree(p); });
}

}  // namespace timing
