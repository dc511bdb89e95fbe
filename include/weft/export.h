/* Visibility of the public symbols, and enumerations that C and C++ see alike. */
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

#endif
