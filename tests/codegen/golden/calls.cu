static __device__ void smooth(int n, double w, double const *__restrict__ x,
                              double *__restrict__ y) {
  y[0] = x[0];
  y[n - 1] = x[n - 1];
  for (int i = 1; i < n - 1; ++i)
    y[i] = w*x[i] + 0.5*(1 - w)*(x[i - 1] + x[i + 1]);
}

static __device__ void total(int n, double const *__restrict__ x,
                             double const *__restrict__ first, double *__restrict__ s) {
  double acc_i = 0.0;
  for (int i = 0; i < n; ++i)
    acc_i += x[i];
  s[0] = first[0] + acc_i;
}

extern "C" __global__ __launch_bounds__(1)
void rows_kernel(int const n, double const *__restrict__ a, double *__restrict__ b,
                 double *__restrict__ t) {
  int const j = blockIdx.x;
  smooth(n, 0.25, &a[(long long)n*j], &b[(long long)n*j]);
  {
    double const argument = 2*j;
    total(n, &b[(long long)n*j], &argument, &t[j]);
  }
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int rows(int n, int m, double const *a, double *b, double *t) {
  int status = 0;
  if (m > 0)
    rows_kernel<<<dim3(m, 1, 1), dim3(1, 1, 1)>>>(n, a, b, t);
  status = cudaGetLastError();
  return status;
}
#endif
