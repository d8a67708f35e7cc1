#include <stdint.h>

void triangle(int32_t n, double *restrict a) {
  #pragma omp parallel for schedule(dynamic)
  for (int32_t i = 0; i < n; ++i)
    for (int32_t j = 0; j <= i; ++j)
      a[(int64_t)n*i + j] = 0.0;
}
