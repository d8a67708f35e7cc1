#include <stdint.h>

void reverse(int32_t n, double const *restrict a, double *restrict b) {
  #pragma omp parallel for
  for (int32_t g = 0; g < n / 16; ++g) {
    double t[16];
    for (int32_t l = 0; l < 16; ++l)
      t[l] = a[16*g + l];
    for (int32_t m = 0; m < 16; ++m)
      b[16*g + m] = t[15 - m];
  }
}
