#pragma once
// The types that every file has under nvcc, because the C library's <sys/types.h> and <math.h> come with the run-time
// library. Typedefs, not macros: a file may declare them again, or use the words as names of its own.
#include <cstddef>
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef unsigned char u_char;
typedef unsigned short u_short;
typedef unsigned int u_int;
typedef unsigned long u_long;
typedef unsigned char u_int8_t;
typedef unsigned short u_int16_t;
typedef unsigned int u_int32_t;
typedef unsigned long u_int64_t;
typedef long quad_t;
typedef unsigned long u_quad_t;
typedef long ssize_t;
typedef long register_t;
typedef long off_t;
typedef long loff_t;
typedef int pid_t;
typedef unsigned int id_t;
typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef unsigned int mode_t;
typedef int key_t;
typedef float float_t;
typedef double double_t;
struct timespec {
  long tv_sec;
  long tv_nsec;
};
struct timeval {
  long tv_sec;
  long tv_usec;
};
