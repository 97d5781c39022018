#pragma once
// For tests and benchmarks: where the checkout is. A variable of a file of its own (cmake/module.cmake), so that the
// objects of two clones are the same and the compiler cache serves both.
extern const char* const kw_source_root;
#define KW_SOURCE_ROOT kw_source_root
