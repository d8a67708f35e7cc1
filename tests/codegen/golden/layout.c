#include <stdint.h>

void layout(int32_t n, double *restrict a, double const *restrict b) {
  for (int32_t i = 0; i < n; ++i)
    a[n + i] = b[2*(int64_t)i + 3];
}
