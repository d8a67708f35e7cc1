#include <stdint.h>

static inline int32_t min_i32(int32_t a, int32_t b) {
  return b < a ? b : a;
}

void axpy(int32_t n, double a, double const *restrict x, double *restrict y) {
  #pragma omp parallel for
  for (int32_t io = 0; io < (n + 3) / 4; ++io) {
    if (io == 0)
      for (int32_t ii = -4*io; ii < min_i32(4, n - 4*io); ++ii)
        y[4*io + ii] += a*x[4*io + ii];
    if (io >= 1) {
      if (4*io + 4 < n) {
        for (int32_t ii = 0; ii < 4; ++ii)
          y[4*io + ii] += a*x[4*io + ii];
      } else {
        for (int32_t ii = 0; ii < n - 4*io; ++ii)
          y[4*io + ii] += a*x[4*io + ii];
      }
    }
  }
}
