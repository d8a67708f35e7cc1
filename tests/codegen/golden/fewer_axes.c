#include <stdint.h>

void scale(int32_t n, double const *restrict s, double *restrict a) {
  #pragma omp parallel for
  for (int32_t g = 0; g < n / 8; ++g) {
    double f[8];
    for (int32_t i = 0; i < 8; ++i)
      f[i] = 2*s[8*g + i];
    for (int32_t i = 0; i < 8; ++i)
      for (int32_t j = 0; j < 8; ++j)
        a[(int64_t)n*(8*g + i) + j] *= f[i];
  }
}
