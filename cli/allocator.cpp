/// jemalloc's options, read at the start of a program that is linked with it: one thread makes
/// nearly all objects, and huge pages spare a large kernel a twentieth of its time in page faults
/// and address translation.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf = "narenas:1,tcache_max:4096,thp:always";
}
