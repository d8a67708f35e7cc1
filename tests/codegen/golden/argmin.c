#include <math.h>
#include <stdint.h>

void where(int32_t n, double const *restrict a, double *restrict r, int32_t *restrict q) {
  double acc_i = INFINITY;
  int32_t acc_i_0 = -1;
  for (int32_t i = 0; i < n; ++i) {
    double const value = a[i];
    if (value < acc_i || (value == acc_i && (i < acc_i_0 || acc_i_0 == -1))) {
      acc_i = value;
      acc_i_0 = i;
    }
  }
  r[0] = acc_i;
  q[0] = acc_i_0;
}
