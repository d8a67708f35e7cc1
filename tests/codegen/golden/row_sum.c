#include <stdint.h>

void rownorm(int32_t m, int32_t n, double const *restrict A, double *restrict B,
             double const *restrict x) {
  for (int32_t i = 0; i < m; ++i) {
    double acc_k;
    if (n >= 1)
      acc_k = 0.0;
    for (int32_t k = 0; k < n; ++k)
      acc_k += A[(int64_t)n*i + k];
    for (int32_t j = 0; j < n; ++j)
      B[(int64_t)n*i + j] = A[(int64_t)n*i + j] / acc_k;
  }
}
