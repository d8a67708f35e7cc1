static __device__ __forceinline__ void mma_8x8x4(double &c0, double &c1, double a, double b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c0), "+d"(c1)
      : "d"(a), "d"(b));
#else
  int const column = threadIdx.x, row = threadIdx.y;
  for (int k = 0; k < 4; ++k) {
    double const left = __shfl_sync(0xffffffffu, a, 4*row + k);
    double const b0 = __shfl_sync(0xffffffffu, b, 8*column + k);
    double const b1 = __shfl_sync(0xffffffffu, b, 8*column + 4 + k);
    c0 += left*b0;
    c1 += left*b1;
  }
#endif
}

static __device__ __forceinline__ void mma_16x8x4(double &c0, double &c1, double &c2, double &c3,
                                                  double a0, double a1, double b) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+d"(c0), "+d"(c1), "+d"(c2), "+d"(c3)
      : "d"(a0), "d"(a1), "d"(b));
#else
  mma_8x8x4(c0, c1, a0, b);
  mma_8x8x4(c2, c3, a1, b);
#endif
}

extern "C" __global__ __launch_bounds__(32)
void product_kernel(int const n, double const *__restrict__ a, double const *__restrict__ b,
                    double *__restrict__ c) {
  int const io = blockIdx.y;
  int const jo = blockIdx.x;
  int const q = threadIdx.x;
  int const r = threadIdx.y;
  double acc_ko_u[2][2];
  acc_ko_u[0][0] = 0.0;
  acc_ko_u[0][1] = 0.0;
  acc_ko_u[1][0] = 0.0;
  acc_ko_u[1][1] = 0.0;
  for (int ko = 0; ko < n / 4; ++ko) {
    mma_16x8x4(acc_ko_u[0][0], acc_ko_u[0][1], acc_ko_u[1][0], acc_ko_u[1][1],
        a[(long long)n*(16*io + r) + 4*ko + q], a[(long long)n*(16*io + r + 8) + 4*ko + q],
        b[(long long)n*(4*ko + q) + 8*jo + r]);
  }
  {
    double2 v;
    v.x = acc_ko_u[0][0];
    v.y = acc_ko_u[0][1];
    *(double2 *)&c[(long long)n*(16*io + r) + 8*jo + 2*q] = v;
  }
  {
    double2 v_0;
    v_0.x = acc_ko_u[1][0];
    v_0.y = acc_ko_u[1][1];
    *(double2 *)&c[(long long)n*(16*io + r + 8) + 8*jo + 2*q] = v_0;
  }
}

/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it over. */
#ifndef __CUDACC_RTC__
extern "C" int product(int n, double const *a, double const *b, double *c) {
  int status = 0;
  if (2*(n / 16) > 0 && n / 16 > 0)
    product_kernel<<<dim3(2*(n / 16), n / 16, 1), dim3(4, 8, 1)>>>(n, a, b, c);
  status = cudaGetLastError();
  return status;
}
#endif
