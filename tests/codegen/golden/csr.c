#include <stdint.h>

void csr(int32_t n, int32_t m, int32_t const *restrict start, int32_t const *restrict col,
         double const *restrict v, double const *restrict x, double *restrict y) {
  for (int32_t i = 0; i < n; ++i) {
    int32_t const len = start[i + 1] - start[i];
    double acc_j = 0.0;
    for (int32_t j = 0; j < len; ++j)
      acc_j += v[start[i] + j]*x[col[start[i] + j]];
    y[i] = acc_j;
  }
}
