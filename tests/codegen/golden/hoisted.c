#include <stdint.h>

void hoisted(int32_t n, int32_t m, double *restrict a, double *restrict b) {
  if (m >= 8)
    for (int32_t i = 0; i < n; ++i) {
      a[i] *= 2.0;
      for (int32_t j = 0; j < n; ++j)
        b[(int64_t)n*i + j] = 0.0;
    }
}
