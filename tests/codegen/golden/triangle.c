#include <stdint.h>

void transpose(int32_t n, double *restrict a) {
  for (int32_t i = 0; i < n - 1; ++i)
    for (int32_t j = i + 1; j < n; ++j)
      a[(int64_t)n*i + j] = a[(int64_t)n*j + i];
}
