#include <stdbool.h>
#include <stdint.h>

void condition(int32_t n, int32_t const *restrict s, double *restrict a) {
  for (int32_t i = 0; i < n; ++i) {
    bool const c = s[i] > 0;
    if (c)
      for (int32_t j = 0; j < n; ++j)
        a[(int64_t)n*i + j] = 1.0;
  }
}
