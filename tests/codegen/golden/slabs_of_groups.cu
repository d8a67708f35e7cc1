extern "C" __global__ __launch_bounds__(18)
void smooth_kernel(int const n, double const *__restrict__ u, double *v) {
  int const i = threadIdx.x;
  int const o = blockIdx.x;
  int const p = threadIdx.x;
  __shared__ double s[18];
  if (16*o + 16 < n) {
    s[p] = u[p + 16*o];
    __syncthreads();
    if (i < 16)
      v[i + 16*o] = s[i] + s[i + 1] + s[i + 2];
  }
  if (16*o + 16 >= n) {
    if (n + 1 >= p + 16*o)
      s[p] = u[p + 16*o];
    __syncthreads();
    if (i + 16*o < n)
      v[i + 16*o] = s[i] + s[i + 1] + s[i + 2];
  }
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int smooth(int n, double const *u, double *v) {
  int status = 0;
  if ((n + 15) / 16 > 0)
    smooth_kernel<<<dim3((n + 15) / 16, 1, 1), dim3(18, 1, 1)>>>(n, u, v);
  status = cudaGetLastError();
  return status;
}
#endif
