#include <stdint.h>

void histogram(int32_t n, int32_t m, int32_t const *restrict bin, double const *restrict w,
               double *restrict h) {
  #pragma omp parallel for
  for (int32_t i = 0; i < n; ++i) {
    #pragma omp atomic
    h[bin[i]] += w[i];
  }
}
