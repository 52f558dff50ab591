
#ifndef _SW_MATH_H_INCLUDED_
#define _SW_MATH_H_INCLUDED_


#include <stdint.h>


static inline int64_t
sw_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}


static inline int64_t
sw_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}


#endif /* _SW_MATH_H_INCLUDED_ */
