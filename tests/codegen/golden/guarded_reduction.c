#include <stdint.h>

void guarded(int32_t n, double const *restrict a, double *restrict r) {
  for (int32_t i = 4; i < n; ++i) {
    double acc_j = 0.0;
    for (int32_t j = 0; j < n; ++j)
      acc_j += a[(int64_t)n*i + j];
    r[i] = acc_j;
  }
}
