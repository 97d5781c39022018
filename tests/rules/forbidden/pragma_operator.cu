// expect: pragma
#define DO(x) _Pragma(#x)
DO(GCC push_options)
