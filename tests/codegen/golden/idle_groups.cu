static __host__ __device__ __forceinline__ int floor_div_i32(int a, int b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

extern "C" __global__ __launch_bounds__(32)
void eliminate_kernel(int const n, double *__restrict__ a, int const k) {
  int const i = blockIdx.y + k + 1;
  int const o = blockIdx.x + floor_div_i32(k + 1, 32);
  int const w = threadIdx.x;
  if (w + 32*o < n && w + 32*o >= k + 1)
    a[(long long)n*i + w + 32*o] -= a[(long long)n*i + k]*a[(long long)n*k + w + 32*o];
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int eliminate(int n, double *a) {
  int status = 0;
  for (int k = 0; k <= n - 2; ++k) {
    if (floor_div_i32(n - 1, 32) - (k + 1) / 32 + 1 > 0 && n - k - 1 > 0)
      eliminate_kernel<<<dim3(floor_div_i32(n - 1, 32) - (k + 1) / 32 + 1, n - k - 1, 1),
          dim3(32, 1, 1)>>>(n, a, k);
  }
  status = cudaGetLastError();
  return status;
}
#endif
