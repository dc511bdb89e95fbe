/* Visibility of the public symbols, and macros for differences between C, C90 and C++. */
#ifndef WEFT_EXPORT_H
#define WEFT_EXPORT_H

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

/* C++ gives an enumeration only the values of its own range; a caller's mistake may be any int. */
#ifdef __cplusplus
#define WEFT_ANY_INT : int
#else
#define WEFT_ANY_INT
#endif

/* Strict C90 has no `inline`. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define WEFT_INLINE inline
#else
#define WEFT_INLINE __inline__
#endif

#endif
