extern "C" __global__ __launch_bounds__(1)
void heat_kernel_0(float const *__restrict__ u, float *__restrict__ v) {
  int const i = blockIdx.x + 1;
  v[i] = (u[i - 1] + u[i] + u[i + 1]) / 3;
}

extern "C" __global__ __launch_bounds__(1)
void heat_kernel_1(float *__restrict__ u, float const *__restrict__ v) {
  int const j = blockIdx.x + 1;
  u[j] = v[j];
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int heat(int n, int steps, float *u) {
  int status = 0;
  float *v = 0;
  if (!status) status = cudaMalloc((void **)&v, sizeof(float)*(n + 2 > 0 ? n + 2 : 1));
  if (!status) {
    for (int t = 0; t <= steps - 1; ++t) {
      if (n > 0)
        heat_kernel_0<<<dim3(n, 1, 1), dim3(1, 1, 1)>>>(u, v);
      if (n > 0)
        heat_kernel_1<<<dim3(n, 1, 1), dim3(1, 1, 1)>>>(u, v);
    }
    status = cudaGetLastError();
  }
  cudaFree(v);
  return status;
}
#endif
