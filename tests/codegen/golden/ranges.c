#include <stdint.h>

void ranges(int32_t n, double *restrict a, double *restrict b) {
  for (int32_t i = 0; i < n; ++i) {
    if (i < 5)
      a[i] = 1.0;
    if (i >= 3)
      b[i] = 2.0;
  }
}
