static __host__ __device__ __forceinline__ int floor_div_i32(int a, int b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

extern "C" __global__ __launch_bounds__(256)
void norm_kernel_kernel(int const m, float const *__restrict__ a, float *b) {
  int const i = threadIdx.x;
  int const q = threadIdx.y;
  int const r = blockIdx.x;
  __shared__ float acc_i_shared[8];
  float acc_i = 0.0f;
  if (q + 2*r < m) {
    acc_i = 0.0f;
    acc_i += a[128*(long long)(q + 2*r) + i]*a[128*(long long)(q + 2*r) + i];
  }
  {
    int const item = threadIdx.x + 128*threadIdx.y;
    for (int reach = 16; reach > 0; reach /= 2) {
      float const acc_i_partner = __shfl_xor_sync(0xffffffffu, acc_i, reach);
      acc_i += acc_i_partner;
    }
    if (item % 32 == 0) {
      acc_i_shared[item / 32] = acc_i;
    }
    __syncthreads();
    acc_i = acc_i_shared[4*(item / 128)];
    for (int reach = 1; reach < 4; ++reach) {
      acc_i += acc_i_shared[4*(item / 128) + reach];
    }
  }
  if (q + 2*r < m)
    if (threadIdx.x == 0)
      b[q + 2*r] = sqrtf(acc_i);
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int norm_kernel(int m, float const *a, float *b) {
  int status = 0;
  if (floor_div_i32(m + 1, 2) > 0)
    norm_kernel_kernel<<<dim3(floor_div_i32(m + 1, 2), 1, 1), dim3(128, 2, 1)>>>(m, a, b);
  status = cudaGetLastError();
  return status;
}
#endif
