#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Lines of the cache; not by aligned_alloc, which seldom reuses what has been freed. */
static void *allocate(size_t bytes) {
  if (bytes > (size_t)-1 / 2) bytes = 0; /* an extent below 0: no element is used */
  char *memory = (char *)malloc(bytes + 192);
  if (!memory) {
    fprintf(stderr, "no memory for a temporary of %zu bytes\n", bytes);
    abort();
  }
  char *aligned = memory + 128 - (uintptr_t)memory % 64;
  ((void **)aligned)[-1] = memory;
  return aligned;
}

static void release(void *memory) {
  free(((void **)memory)[-1]);
}

void heap(int32_t n, double const *restrict a, double *restrict b) {
  double *t = allocate(sizeof(double)*n);
  for (int32_t i = 0; i < n; ++i)
    t[i] = 2*a[i];
  for (int32_t j = 0; j < n; ++j)
    b[j] = t[n - j - 1];
  release(t);
}
