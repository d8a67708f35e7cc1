#include <stdint.h>

void axpy(int32_t n, double a, double const *restrict x, double *restrict y) {
  for (int32_t io = 0; io < n / 4; ++io) {
    y[4*io] += a*x[4*io];
    y[4*io + 1] += a*x[4*io + 1];
    y[4*io + 2] += a*x[4*io + 2];
    y[4*io + 3] += a*x[4*io + 3];
  }
}
