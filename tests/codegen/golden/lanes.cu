static __host__ __device__ __forceinline__ int floor_div_i32(int a, int b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

extern "C" __global__ __launch_bounds__(1)
void scale_kernel(int const n, float const *__restrict__ a, float *__restrict__ b) {
  int const i = blockIdx.x;
  if (4*i + 3 < n) {
    float4 const v_0 = *(float4 const *)&a[4*i];
    float4 v_1;
    v_1.x = 2*v_0.x;
    v_1.y = 2*v_0.y;
    v_1.z = 2*v_0.z;
    v_1.w = 2*v_0.w;
    *(float4 *)&b[4*i] = v_1;
  } else {
    b[4*i] = 2*a[4*i];
    if (4*i + 1 < n)
      b[4*i + 1] = 2*a[4*i + 1];
    if (4*i + 3 == n)
      b[4*i + 2] = 2*a[4*i + 2];
  }
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int scale(int n, float const *a, float *b) {
  int status = 0;
  if (floor_div_i32(n + 3, 4) > 0)
    scale_kernel<<<dim3(floor_div_i32(n + 3, 4), 1, 1), dim3(1, 1, 1)>>>(n, a, b);
  status = cudaGetLastError();
  return status;
}
#endif
