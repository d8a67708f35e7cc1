#include <stdint.h>

void strides(int32_t n, double *restrict a) {
  for (int32_t i = 0; i < n - 1; i += 3)
    if ((i + 3) % 6 + 3*i + 5 < 3*n)
      for (int32_t j = i - i % 2 + 2; j < n; j += 2)
        a[(int64_t)n*i + j] *= 2.0;
}
