#include <stdint.h>

void axpy(int32_t n, double a, double const *restrict x, double *restrict y) {
  for (int32_t io = 0; io < (n - 1) / 4; ++io)
    for (int32_t ii = 0; ii < 4; ++ii)
      y[4*io + ii] += a*x[4*io + ii];
  if (n >= 1) {
    int32_t const io = (n - 1) / 4;
    for (int32_t ii = 0; ii < n - 4*io; ++ii)
      y[4*io + ii] += a*x[4*io + ii];
  }
}
