#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *allocate(size_t bytes) {
  if (bytes > (size_t)-1 / 2) bytes = 0; /* an extent below 0: no element is used */
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  if (!memory) {
    fprintf(stderr, "no memory for a temporary of %zu bytes\n", bytes);
    abort();
  }
  return memory;
}

void heap(int32_t n, double const *restrict a, double *restrict b) {
  double *t = allocate(sizeof(double)*n);
  for (int32_t i = 0; i < n; ++i)
    t[i] = 2*a[i];
  for (int32_t j = 0; j < n; ++j)
    b[j] = t[n - j - 1];
  free(t);
}
