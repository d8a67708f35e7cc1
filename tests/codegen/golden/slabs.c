#include <stdint.h>

static inline int32_t min_i32(int32_t a, int32_t b) {
  return b < a ? b : a;
}

void axpy(int32_t n, double a, double const *restrict x, double *restrict y) {
  if (n >= 1)
    for (int32_t ii = 0; ii < min_i32(4, n); ++ii)
      y[ii] += a*x[ii];
  for (int32_t io = 1; io < (n - 1) / 4; ++io)
    for (int32_t ii = 0; ii < 4; ++ii)
      y[4*io + ii] += a*x[4*io + ii];
  if (n >= 5) {
    int32_t const io = (n - 1) / 4;
    for (int32_t ii = 0; ii < n - 4*io; ++ii)
      y[4*io + ii] += a*x[4*io + ii];
  }
}
