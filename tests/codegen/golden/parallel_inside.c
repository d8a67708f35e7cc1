#include <stdint.h>

void steps(int32_t t, int32_t n, double *restrict u, double *restrict v) {
  for (int32_t s = 0; s < t; ++s) {
    #pragma omp parallel
    {
      #pragma omp for
      for (int32_t i = 0; i < n; ++i)
        v[i] = 2*u[i];
      #pragma omp for
      for (int32_t j = 0; j < n; ++j)
        u[j] = v[j];
    }
  }
}
