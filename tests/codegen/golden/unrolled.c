#include <stdint.h>

void axpy(int32_t n, double a, double const *restrict x, double *restrict y) {
  for (int32_t io = 0; io < (n + 3) / 4; ++io) {
    y[4*io] += a*x[4*io];
    if (4*io + 1 < n)
      y[4*io + 1] += a*x[4*io + 1];
    if (4*io + 2 < n)
      y[4*io + 2] += a*x[4*io + 2];
    if (4*io + 3 < n)
      y[4*io + 3] += a*x[4*io + 3];
  }
}
