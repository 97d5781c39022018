#pragma once
// KW_VECTOR_VERSIONS in front of a function with plain loops: the compiler makes a version for each vector unit and the
// loader picks one. Files that use it are compiled without contraction (-ffp-contract=off), so all give the same bits.

// Sanitizers cannot work in what chooses a version, because it runs before they are ready: they get one version.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KW_VECTOR_VERSIONS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KW_VECTOR_VERSIONS
#endif
#endif

#ifndef KW_VECTOR_VERSIONS
#ifdef __x86_64__
#define KW_VECTOR_VERSIONS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KW_VECTOR_VERSIONS
#endif
#endif
