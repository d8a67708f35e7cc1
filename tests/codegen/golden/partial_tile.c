#include <stdint.h>

static inline int32_t min_i32(int32_t a, int32_t b) {
  return b < a ? b : a;
}

void axpy(int32_t n, double a, double const *restrict x, double *restrict y) {
  for (int32_t io = 0; io < (n + 3) / 4; ++io)
    for (int32_t ii = 0; ii < min_i32(4, n - 4*io); ++ii)
      y[4*io + ii] += a*x[4*io + ii];
}
