extern "C" __global__ __launch_bounds__(1)
void peak_kernel(float const *__restrict__ x, float *m) {
  int const i = blockIdx.x;
  {
    int *const at = (int *)&m[0];
    int seen = *at, before;
    do {
      before = seen;
      float const old = __int_as_float(before);
      seen = atomicCAS(at, before, __float_as_int(fmaxf(old, x[i])));
    } while (seen != before);
  }
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int peak(int n, float const *x, float *m) {
  int status = 0;
  if (n > 0)
    peak_kernel<<<dim3(n, 1, 1), dim3(1, 1, 1)>>>(x, m);
  status = cudaGetLastError();
  return status;
}
#endif
