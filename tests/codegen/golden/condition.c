#include <stdint.h>

void condition(int32_t n, int32_t const *restrict s, double *restrict a) {
  for (int32_t i = 0; i < n; ++i)
    for (int32_t j = 0; j < n; ++j)
      if (s[i] > 0)
        a[(int64_t)n*i + j] = 1.0;
}
