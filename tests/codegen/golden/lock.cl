#pragma OPENCL EXTENSION cl_khr_fp64 : enable

double2 mul_c128(double2 z, double2 w) {
  return (double2)(z.x*w.x - z.y*w.y, z.x*w.y + z.y*w.x);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void turn(__global double2 *s, __global int *locks) {
  int const i = get_group_id(0);
  {
    int const number = (size_t)&s[i % 3]/sizeof s[i % 3] % 1024;
    int done = 0;
    while (!done)
      if (atomic_xchg(&locks[number], 1) == 0) {
        mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        double2 old;
        old.x = ((volatile __global double *)&s[i % 3])[0];
        old.y = ((volatile __global double *)&s[i % 3])[1];
        double2 const next = mul_c128(old, (double2)(0.0, 1.0));
        ((volatile __global double *)&s[i % 3])[0] = next.x;
        ((volatile __global double *)&s[i % 3])[1] = next.y;
        mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        atomic_xchg(&locks[number], 0);
        done = 1;
      }
  }
}
