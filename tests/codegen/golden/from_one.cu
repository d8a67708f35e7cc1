extern "C" __global__ __launch_bounds__(64)
void one_kernel(int const n, double const *__restrict__ u, double *__restrict__ v) {
  int const o = blockIdx.x;
  int const w = threadIdx.x;
  if (w + 64*o + 1 < n && w + 64*o >= 1)
    v[w + 64*o] = u[w + 64*o - 1] + u[w + 64*o + 1];
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int one(int n, double const *u, double *v) {
  int status = 0;
  if ((n + 62) / 64 > 0)
    one_kernel<<<dim3((n + 62) / 64, 1, 1), dim3(64, 1, 1)>>>(n, u, v);
  status = cudaGetLastError();
  return status;
}
#endif
