static __host__ __device__ __forceinline__ int floor_div_i32(int a, int b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

extern "C" __global__ __launch_bounds__(256)
void matmul_kernel(int const n, double const *__restrict__ a, double const *__restrict__ b,
                   double *__restrict__ c) {
  int const i = threadIdx.y;
  int const io = blockIdx.y;
  int const j = threadIdx.x;
  int const jo = blockIdx.x;
  if (i + 16*io < n)
    if (j + 16*jo < n) {
      double acc_k = 0.0;
      for (int k = 0; k < n; ++k)
        acc_k += a[(long long)n*(i + 16*io) + k]*b[(long long)n*k + j + 16*jo];
      c[(long long)n*(i + 16*io) + j + 16*jo] = acc_k;
    }
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int matmul(int n, double const *a, double const *b, double *c) {
  int status = 0;
  if (floor_div_i32(n + 15, 16) > 0 && floor_div_i32(n + 15, 16) > 0)
    matmul_kernel<<<dim3(floor_div_i32(n + 15, 16), floor_div_i32(n + 15, 16), 1),
        dim3(16, 16, 1)>>>(n, a, b, c);
  status = cudaGetLastError();
  return status;
}
#endif
