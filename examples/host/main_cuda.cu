#include "grid.h"
#include "smooth.h"

int main(void) {
  static double u[SIZE], v[SIZE];
  fill(u);
  double *a = 0, *b = 0;
  int status = cudaMalloc(&a, sizeof u);
  if (!status) status = cudaMalloc(&b, sizeof v);
  if (!status) status = cudaMemcpy(a, u, sizeof u, cudaMemcpyHostToDevice);
  if (!status) status = cudaMemcpy(b, v, sizeof v, cudaMemcpyHostToDevice);
  if (!status) status = smooth(N, M, 0.8, a, b);
  if (!status) status = cudaMemcpy(v, b, sizeof v, cudaMemcpyDeviceToHost);
  cudaFree(a), cudaFree(b);
  if (status) return printf("CUDA's error %d\n", status), 2;
  return check(0.8, u, v);
}
