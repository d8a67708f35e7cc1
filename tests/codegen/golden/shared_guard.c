#include <stdint.h>

void shared(int32_t n, int32_t const *restrict s, double *restrict a, double *restrict b) {
  for (int32_t i = 0; i < n; ++i)
    if (i > 3 && s[i] != 0) {
      a[i] *= 2.0;
      b[i] = a[i];
    }
}
