#include <stdint.h>

void own(int32_t n, double *restrict a, double *restrict b) {
  #pragma omp parallel for
  for (int32_t g = 0; g < n / 16; ++g)
    for (int32_t l = 0; l < 16; ++l) {
      double const t = 2*a[16*g + l];
      a[16*g + l] = t;
      b[16*g + l] = t*a[16*g + l];
    }
}
