static __host__ __device__ __forceinline__ int floor_div_i32(int a, int b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static __host__ __device__ __forceinline__ int max_i32(int a, int b) {
  return b > a ? b : a;
}

extern "C" __global__
void rows_kernel(int const m, float *a, int *s) {
  int const i = blockIdx.x;
  int const j = threadIdx.x;
  int const k = threadIdx.x;
  if (2*j < m)
    a[(long long)m*i + 2*j] *= 3.0f;
  if (threadIdx.x == 0)
    s[i] = i;
  __syncthreads();
  if (k + 1 < m)
    a[(long long)m*i + k] += 1.0f;
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int rows(int n, int m, float *a, int *s) {
  int status = 0;
  if (n > 0)
    rows_kernel<<<dim3(n, 1, 1), dim3(max_i32(max_i32(floor_div_i32(m + 1, 2), m - 1), 1), 1,
        1)>>>(m, a, s);
  status = cudaGetLastError();
  return status;
}
#endif
